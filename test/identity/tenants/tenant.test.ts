// Slugs and addresses, without any database.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressOf, findMismatches, isSlug } from '../../../src/identity/tenants/tenant.ts';

const rules = {
  publicUrl: 'https://id.example.com',
  defaultTenant: 'demo',
  tenantUrl: 'https://{tenant}.id.example.com/{tenant}',
};

describe('a slug', () => {
  it.each(['a', '1', 'acme', 'a-b', '0-0', 'a'.repeat(63)])('may be %s', (slug) => {
    expect(isSlug(slug)).toBe(true);
  });

  it.each(['', '-a', 'a-', 'A', 'a.b', 'a_b', 'ä', 'a b', 'a\n', 'a'.repeat(64)])('may not be %j', (slug) => {
    expect(isSlug(slug)).toBe(false);
  });

  it('can always stand in a host name as it is', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9-]{1,64}$/), (slug) => {
        fc.pre(isSlug(slug) && !slug.startsWith('xn--'));
        expect(new URL(`https://${slug}.example`).hostname).toBe(`${slug}.example`);
      }),
    );
  });
});

describe('a tenant’s address', () => {
  it('is the public URL for the default tenant, and the template’s for every other', () => {
    expect(addressOf('demo', rules).baseUrl).toBe('https://id.example.com');
    expect(addressOf('acme', rules).issuerUrl).toBe('https://acme.id.example.com/acme');
    expect(addressOf('demo', { ...rules, defaultTenant: undefined }).baseUrl).toBe(
      'https://demo.id.example.com/demo',
    );
  });

  it('differs from the stored one when the settings have changed', () => {
    const demo = { slug: 'demo', ...addressOf('demo', rules) };
    const acme = { slug: 'acme', ...addressOf('acme', rules) };
    expect(findMismatches([demo, acme], rules)).toEqual([]);
    expect(findMismatches([demo, acme], { ...rules, publicUrl: 'https://new.example' })).toEqual([
      { slug: 'demo', storedUrl: 'https://id.example.com', configuredUrl: 'https://new.example' },
    ]);
    expect(findMismatches([{ ...acme, issuerUrl: 'https://x.example' }], rules)).toHaveLength(1);
  });
});
