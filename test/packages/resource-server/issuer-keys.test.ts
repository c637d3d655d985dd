// Signatures and the issuer's keys: what is forged, how long keys are kept, how often they are fetched, and what
// happens without.
import { generateKeyPair, SignJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGuard } from '../../../packages/resource-server/src/guard.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { bearer, outcomeOf } from './requests.ts';

const JWKS = '/.well-known/jwks.json';
const INTROSPECTION = '/oauth/introspect';
const APPLICATION = { clientId: 'api', clientSecret: 'secret' };

let issuer: TestIssuer;
beforeEach(async () => {
  // The guards of this file say that something is away, as they should.
  vi.spyOn(console, 'warn').mockImplementation(() => undefined);
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
  issuer = await createTestIssuer();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000);
const count = (path: string) => issuer.requests.filter((requested) => requested === path).length;
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('a signature', () => {
  it('must be of one of the issuer’s keys, over exactly this header and these claims', async () => {
    const guard = createGuard(issuer.guardOptions);
    const token = await issuer.createToken();
    const [header = '', payload = '', signature = ''] = token.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
    const stranger = await generateKeyPair('ES256');
    const forge = (head: { alg: string; kid?: string }, key: Parameters<SignJWT['sign']>[0]) =>
      new SignJWT(claims).setProtectedHeader({ typ: 'at+jwt', ...head }).sign(key);
    const forged = [
      [header, encode({ ...claims, scope: 'vault:read' }), signature].join('.'),
      [encode({ alg: 'none', typ: 'at+jwt', kid }), payload, ''].join('.'),
      [header, payload, signature.slice(0, -8)].join('.'),
      await forge({ alg: 'ES256', kid }, stranger.privateKey),
      await forge({ alg: 'HS256', kid }, new TextEncoder().encode('x'.repeat(32))),
      await forge({ alg: 'EdDSA', kid }, (await generateKeyPair('EdDSA')).privateKey),
      await issuer.createToken({}, { header: { kid: undefined } }),
      await issuer.createToken({}, { header: { crit: ['b64'], b64: true } }),
    ];
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    for (const other of forged) expect(await outcomeOf(guard, bearer(other))).toBe('401 invalid_token');
  });
});

describe('the keys', () => {
  it('are kept for 300 seconds, and not longer', async () => {
    const guard = createGuard(issuer.guardOptions);
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('accepted');
    pass(299);
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('accepted');
    expect(count(JWKS)).toBe(1);
    pass(2);
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('accepted');
    expect(count(JWKS)).toBe(2);
  });

  it('are fetched for an unknown kid, at most every five seconds', async () => {
    const guard = createGuard(issuer.guardOptions);
    await outcomeOf(guard, bearer(await issuer.createToken()));
    await issuer.rotateKey();
    const token = await issuer.createToken();
    expect(await outcomeOf(guard, bearer(token))).toBe('401 invalid_token');
    expect(count(JWKS)).toBe(1);
    pass(6);
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    const invented = await issuer.createToken({}, { header: { kid: 'invented' } });
    for (let n = 0; n < 20; n += 1) await outcomeOf(guard, bearer(invented));
    expect(count(JWKS)).toBe(2);
  });

  it('are needed: without them nothing is accepted, and a failed fetch is not repeated by each request', async () => {
    const guard = createGuard(issuer.guardOptions);
    const token = await issuer.createToken();
    issuer.setReachable(false);
    for (let n = 0; n < 5; n += 1)
      expect(await outcomeOf(guard, bearer(token))).toBe('503 temporarily_unavailable');
    expect(count(JWKS)).toBe(1);
    issuer.setReachable(true);
    pass(2);
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
  });

  it('serve their time although what a stranger invents cannot be looked up while the issuer is away', async () => {
    const guard = createGuard(issuer.guardOptions);
    const token = await issuer.createToken();
    await outcomeOf(guard, bearer(token));
    issuer.setReachable(false);
    pass(6);
    const [header = '', ...rest] = token.split('.');
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
    const invented = [
      await issuer.createToken({}, { header: { kid: 'invented' } }),
      [encode({ alg: 'EdDSA', typ: 'at+jwt', kid }), ...rest].join('.'),
    ];
    for (let n = 0; n < 5; n += 1) {
      for (const one of invented)
        expect(await outcomeOf(guard, bearer(one))).toBe('503 temporarily_unavailable');
      expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    }
    expect(count(JWKS)).toBe(2);
  });

  it('are not used any more when they are too old and cannot be fetched', async () => {
    const guard = createGuard(issuer.guardOptions);
    await outcomeOf(guard, bearer(await issuer.createToken()));
    pass(301);
    issuer.setReachable(false);
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('503 temporarily_unavailable');
  });
});

describe('introspection', () => {
  /** An issuer whose JWKS fails, and nothing else. */
  const withoutKeys: typeof fetch = (input, init) =>
    String(input).endsWith(JWKS) ? Promise.reject(new TypeError('away')) : issuer.fetch(input, init);

  it('is asked while the keys cannot be had, and its answer is judged by the same table', async () => {
    const options = { ...issuer.guardOptions, fetch: withoutKeys };
    const guard = createGuard({ ...options, introspection: { ...APPLICATION, cacheSeconds: 2 } });
    const outcome = async (claims: Record<string, unknown> = {}, rules = {}) =>
      outcomeOf(guard, bearer(await issuer.createToken(claims)), rules);
    expect(await outcome()).toBe('accepted');
    expect(await outcome({}, { scope: 'vault:read' })).toBe('403 insufficient_scope');
    const asked = count(INTROSPECTION);
    expect(await outcome({ aud: 'https://elsewhere.test' })).toBe('401 invalid_token');
    expect(await outcomeOf(guard, bearer('not.a.token'))).toBe('401 invalid_token');
    // What is wrong at a glance is not worth a request.
    expect(count(INTROSPECTION)).toBe(asked);
  });

  it('keeps an answer for the seconds that were given, and fails closed', async () => {
    const options = { ...issuer.guardOptions, fetch: withoutKeys };
    const guard = createGuard({ ...options, introspection: { ...APPLICATION, cacheSeconds: 2 } });
    const token = await issuer.createToken();
    const together = await Promise.all([1, 2, 3].map(() => outcomeOf(guard, bearer(token))));
    expect(together).toEqual(Array(3).fill('accepted'));
    expect(count(INTROSPECTION)).toBe(1);
    issuer.revokeToken(token);
    pass(1);
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    pass(2);
    expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
    issuer.setReachable(false);
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('503 temporarily_unavailable');
  });

  it('is asked for each token when the guard wants so', async () => {
    const introspection = { ...APPLICATION, cacheSeconds: 0, use: 'always' } as const;
    const guard = createGuard({ ...issuer.guardOptions, introspection });
    const token = await issuer.createToken();
    expect(await outcomeOf(guard, bearer(token))).toBe('accepted');
    issuer.revokeToken(token);
    expect(await outcomeOf(guard, bearer(token))).toBe('401 token_revoked');
  });

  it('is not asked without need', async () => {
    const guard = createGuard({ ...issuer.guardOptions, introspection: APPLICATION });
    expect(await outcomeOf(guard, bearer(await issuer.createToken()))).toBe('accepted');
    expect(count(INTROSPECTION)).toBe(0);
  });
});
