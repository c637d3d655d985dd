// The parameters of a token exchange, one by one.
import { describe, expect, it } from 'vitest';
import { readExchangeRequest } from '../../../src/authentication/token-exchange/exchange-request.ts';
import { TOKEN_TYPES } from '../../../src/authentication/tokens/grant-types.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';

const good = {
  subject_token: 's',
  subject_token_type: TOKEN_TYPES.idToken,
  actor_token: 'a',
  actor_token_type: TOKEN_TYPES.accessToken,
};
const read = (change: Record<string, string | undefined>) =>
  readExchangeRequest(
    Object.fromEntries(
      Object.entries({ ...good, ...change }).filter(
        (entry): entry is [string, string] => entry[1] !== undefined,
      ),
    ),
  );
const codeOf = (work: () => unknown): [string, string | undefined] => {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return [error.code, error.errors?.[0]?.path];
    throw error;
  }
  throw new Error('it was not refused');
};

describe('a token exchange', () => {
  it('is read as it is sent', () => {
    expect(read({ scope: 'openid', resource: 'https://api.example/x' })).toEqual({
      subjectToken: 's',
      subjectTokenType: TOKEN_TYPES.idToken,
      actorToken: 'a',
      actorTokenType: TOKEN_TYPES.accessToken,
      scope: 'openid',
      target: 'https://api.example/x',
    });
    expect(read({ requested_token_type: TOKEN_TYPES.accessToken })).toMatchObject({ subjectToken: 's' });
    expect(read({ audience: 'api' }).target).toBe('api');
    expect(read({ audience: 'https://api.example', resource: 'https://api.example' }).target).toBe(
      'https://api.example',
    );
    expect(read({}).target).toBeUndefined();
  });

  it.each([
    [{ subject_token: undefined }, 'subject_token'],
    [{ subject_token: '' }, 'subject_token'],
    [{ subject_token_type: undefined }, 'subject_token_type'],
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' }, 'subject_token_type'],
    [{ subject_token_type: 'access_token' }, 'subject_token_type'],
    [{ actor_token: undefined, actor_token_type: undefined }, 'actor_token'],
    [{ actor_token: undefined }, 'actor_token_type'],
    [{ actor_token_type: undefined }, 'actor_token_type'],
    [{ actor_token_type: TOKEN_TYPES.idToken }, 'actor_token_type'],
    [{ requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }, 'requested_token_type'],
    [{ requested_token_type: TOKEN_TYPES.jwt }, 'requested_token_type'],
  ])('with %j is an invalid request that names %s', (change, name) => {
    expect(codeOf(() => read(change))).toEqual(['invalid_request', `body.${name}`]);
  });

  it.each([
    [{ resource: 'api' }],
    [{ resource: '/api' }],
    [{ resource: 'https://api.example/#part' }],
    [{ resource: 'https://api.example/ä' }],
    [{ audience: 'a b' }],
    [{ audience: 'x'.repeat(501) }],
    [{ audience: 'a', resource: 'https://api.example' }],
  ])('with %j has an invalid target', (change) => {
    expect(codeOf(() => read(change))[0]).toBe('invalid_target');
  });
});
