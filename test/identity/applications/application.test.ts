// Which scopes an application may hold, without any database.
import { describe, expect, it } from 'vitest';
import { checkApplicationScopes } from '../../../src/identity/applications/application.ts';

describe('the scopes of an application', () => {
  it('may be of agents and of management', () => {
    expect(() => checkApplicationScopes(['openid', 'tenant:write'], undefined)).not.toThrow();
    expect(() => checkApplicationScopes(['openid'], ['openid', 'email'])).not.toThrow();
  });

  it.each([
    ['none at all', [], undefined],
    ['an unknown one', ['openid', 'root'], undefined],
    ['one beyond its agent’s', ['openid', 'email'], ['openid']],
    ['a management scope beside an agent', ['agents:read'], ['openid']],
    ['any beside an agent without scopes', ['openid'], []],
  ])('are refused with %s', (_name, scopes, agentScopes) => {
    expect(() => checkApplicationScopes(scopes, agentScopes)).toThrowError(
      expect.objectContaining({
        code: 'invalid_request',
        errors: [expect.objectContaining({ path: 'body.scopes' })],
      }),
    );
  });
});
