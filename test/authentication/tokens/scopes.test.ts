// Which scopes a request is granted, and which the pages describe.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  AGENT_SCOPES,
  APPLICATION_SCOPES,
  checkGrantor,
  grantScopes,
  holdsScope,
  intersectScopes,
  isAgentScope,
  MANAGEMENT_SCOPES,
} from '../../../src/platform/scopes.ts';

const allowed = ['vault:read', 'openid', 'email'];

describe('scopes', () => {
  it('are those of the specification for agents', () => {
    expect([...AGENT_SCOPES].sort()).toEqual(
      ['email', 'offline_access', 'openid', 'profile', 'vault:read', 'wallet:sign'].sort(),
    );
    expect(APPLICATION_SCOPES.filter(isAgentScope)).toEqual([...AGENT_SCOPES]);
  });

  it('of management are the rows of the table in the specification', () => {
    const page = readFileSync('docs/specification.md', 'utf8');
    const table = page.slice(page.indexOf('### Scopes of management'), page.indexOf('### Methods'));
    const rows = [...table.matchAll(/^\| `([a-z:.]+)` \| (.+)$/gm)].map(([, scope]) => scope);
    expect(rows).toEqual([...MANAGEMENT_SCOPES]);
  });

  it.each([
    ['events:read', 'webhooks:read'],
    ['tenant:read', 'tenant:write'],
  ])('%s is allowed by the older %s too, and not the other way round', (narrow, broad) => {
    expect(holdsScope([narrow], narrow)).toBe(true);
    expect(holdsScope([broad], narrow)).toBe(true);
    expect(holdsScope([narrow], broad)).toBe(false);
    const grant = (held: string[], scopes: string[]) => () =>
      checkGrantor({ scopes: held }, { holder: 'application', scopes });
    expect(grant([broad], [narrow])).not.toThrow();
    expect(grant([narrow], [broad])).toThrowError(expect.objectContaining({ code: 'insufficient_scope' }));
  });

  it.each([
    ['all of them without a scope parameter', undefined, ['email', 'openid', 'vault:read']],
    ['one', 'openid', ['openid']],
    ['a part, sorted', 'vault:read email', ['email', 'vault:read']],
    ['each once', 'openid openid  openid ', ['openid']],
  ])('grants %s', (_name, requested, granted) => {
    expect(grantScopes(requested, allowed)).toEqual(granted);
  });

  it.each([
    ['one outside', 'openid profile', allowed],
    ['a name that differs in case', 'OpenID', allowed],
    ['spaces only', '   ', allowed],
    ['a tab between names', 'openid\temail', allowed],
    ['a quotation mark', '"openid"', allowed],
    ['a letter outside ASCII', 'openíd', allowed],
    ['everything when nothing is allowed', undefined, []],
  ])('refuses %s', (_name, requested, held) => {
    expect(() => grantScopes(requested, held)).toThrowError(
      expect.objectContaining({ code: 'invalid_scope' }),
    );
  });

  it('grants exactly what was asked for when all of it is allowed, and nothing else ever', () => {
    const scopes = fc.uniqueArray(fc.constantFrom(...APPLICATION_SCOPES), { minLength: 1 });
    fc.assert(
      fc.property(scopes, scopes, (requested, held) => {
        const isInside = requested.every((scope) => held.includes(scope));
        const grant = () => grantScopes(requested.join(' '), held);
        if (isInside) expect(grant()).toEqual([...requested].sort());
        else expect(grant).toThrowError(expect.objectContaining({ code: 'invalid_scope' }));
      }),
    );
  });

  it('leave of an application what its agent has too', () => {
    expect(
      intersectScopes(['vault:read', 'tenant:write', 'email'], ['email', 'openid', 'vault:read']),
    ).toEqual(['email', 'vault:read']);
  });
});
