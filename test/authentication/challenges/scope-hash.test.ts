import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalizeScopes, hashScopes, parseScope } from '../../../src/platform/scope-hash.ts';

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex');
const scope = fc.constantFrom('openid', 'profile', 'email', 'offline_access', 'wallet:sign', 'vault:read');

describe('a scope parameter', () => {
  it.each([
    ['openid', ['openid']],
    ['wallet:sign openid', ['openid', 'wallet:sign']],
    ['  openid   openid email ', ['email', 'openid']],
    ['b B a_ a: a', ['B', 'a', 'a:', 'a_', 'b']],
    ['', []],
    ['   ', []],
  ])('%j names %j', (text, scopes) => {
    expect(parseScope(text)).toEqual(scopes);
  });

  it.each([
    'openid\tprofile',
    'openid\nprofile',
    'open"id',
    'open\\id',
    'openid\u00a0profile',
    'é',
    'a\u0000',
    'openid\u007f',
    'openid\n',
  ])('is malformed with a character outside of RFC 6749 §3.3: %j', (text) => {
    expect(parseScope(text)).toBeNull();
  });
});

describe('the scope hash', () => {
  it('is the SHA-256 of the sorted scopes, joined by one space', () => {
    expect(hashScopes(['wallet:sign', 'openid'])).toBe(sha256('openid wallet:sign'));
    expect(hashScopes(['openid'])).toBe(sha256('openid'));
    expect(hashScopes([])).toBe(sha256(''));
  });

  it('does not depend on order, repetition and spaces', () => {
    const spaces = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(fc.array(scope, { minLength: 1, maxLength: 12 }), spaces, (scopes, gaps) => {
        const text = scopes.map((name, index) => name + ' '.repeat(gaps[index] ?? 1)).join('');
        const parsed = parseScope(text) ?? [];
        expect(parsed).toEqual(canonicalizeScopes(scopes));
        expect(hashScopes(parsed)).toBe(hashScopes([...scopes, ...scopes].reverse()));
        expect(hashScopes(parsed)).toBe(sha256(parsed.join(' ')));
      }),
    );
  });

  it('differs when the scopes differ', () => {
    fc.assert(
      fc.property(fc.uniqueArray(scope), fc.uniqueArray(scope), (one, two) => {
        const areEqual = [...one].sort().join() === [...two].sort().join();
        expect(hashScopes(one) === hashScopes(two)).toBe(areEqual);
      }),
    );
  });
});
