// Requests of a guard whose application has a private key, as an issuer in memory gets them: assertions and proofs, the
// nonce and the time that answers say, and tokens that are bound to no key.
import { generateKeyPairSync } from 'node:crypto';
import {
  calculateJwkThumbprint,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  jwtVerify,
} from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createGuard } from '../../../packages/resource-server/src/guard.ts';
import {
  followRevocations,
  type RevocationsOptions,
} from '../../../packages/resource-server/src/revocations.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';
import { PATIENCE } from '../../setup/patience.ts';

const FEED = '/api/v1/events';
const TOKEN = '/oauth/token';
const NOW = 1_800_000_000_000;

type Sent = {
  readonly path: string;
  readonly url: string;
  readonly headers: Headers;
  readonly form: URLSearchParams;
};
/** Answers in the place of the issuer. */
type Play = (sent: Sent, count: number) => Response | undefined;

let issuer: TestIssuer;
let key: { publicKey: CryptoKey; privateKey: CryptoKey };
let sent: Sent[];
const ending: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  issuer = await createTestIssuer({ now: () => NOW });
  key = await generateKeyPair('ES256', { extractable: true });
  sent = [];
});
afterEach(async () => {
  await Promise.all(ending.splice(0).map((end) => end()));
});

const at = (path: string) => sent.filter((one) => one.path === path);

/** Follows the feed by a key. @param play gets each request, and how many there were at its path */
function follow(play: Play, options: Partial<RevocationsOptions> = {}) {
  const onError = vi.fn();
  const revocations = followRevocations({
    ...issuer.revocationsOptions,
    credentials: { clientId: 'api', privateKey: key.privateKey },
    intervalMs: 5,
    onError,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const path = new URL(request.url).pathname;
      const form = new URLSearchParams(request.method === 'POST' ? await request.clone().text() : '');
      const one = { path, url: request.url, headers: request.headers, form };
      sent.push(one);
      return play(one, at(path).length) ?? issuer.fetch(request);
    },
    ...options,
  });
  ending.push(revocations.close);
  return { revocations, onError };
}

const bound = (token: string, nonce = 'n1') => {
  const members = { access_token: token, token_type: 'DPoP', expires_in: 300 };
  return Response.json(members, { headers: { 'dpop-nonce': nonce } });
};
const refusal = (error: string, headers: Record<string, string> = {}, status = 401) =>
  Response.json({ error }, { status, headers });
const readFeed = (times: number) => vi.waitUntil(() => at(FEED).length >= times, PATIENCE);

async function readAssertion({ form }: Sent, publicKey = key.publicKey) {
  expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  const text = form.get('client_assertion') ?? '';
  const { payload, protectedHeader } = await jwtVerify(text, publicKey, { currentDate: new Date(NOW) });
  return { ...payload, header: protectedHeader };
}

type Proof = { readonly jwk: JWK; readonly jti?: string; readonly iat?: number; readonly nonce?: unknown };

/** Verifies a proof by the key in its header. */
async function readProof({ headers }: Sent): Promise<Proof> {
  const text = headers.get('dpop') ?? '';
  const { jwk } = decodeProtectedHeader(text);
  if (jwk === undefined) throw new Error('The proof has no key.');
  const options = { typ: 'dpop+jwt', algorithms: ['ES256'] };
  const { payload } = await jwtVerify(text, await importJWK(jwk as JWK, 'ES256'), options);
  return { ...payload, jwk: jwk as JWK };
}

describe('an assertion', () => {
  it('is by the key, for the issuer and one request, and ends within a minute', async () => {
    const { revocations } = follow(({ path }, count) =>
      path === TOKEN && count === 1 ? refusal('use_dpop_nonce', { 'dpop-nonce': 'n1' }, 400) : undefined,
    );
    await revocations.ready();
    const [one, two] = await Promise.all(at(TOKEN).map((request) => readAssertion(request)));
    const iat = NOW / 1000;
    expect(one).toEqual({
      ...{ iss: 'api', sub: 'api', aud: issuer.issuer, jti: expect.any(String), iat, exp: iat + 60 },
      header: { alg: 'ES256', typ: 'client-authentication+jwt' },
    });
    expect(two).toEqual({ ...one, jti: expect.any(String) });
    expect(one?.jti).not.toBe(two?.jti);
    expect(at(TOKEN).map(({ headers }) => headers.get('authorization'))).toEqual([null, null]);
  });

  const named = { kid: 'k' };
  it.each<[string, string, JWK]>([
    ['ES256', 'ES256', {}],
    ['EdDSA', 'EdDSA', {}],
    ['PS256', 'PS256', {}],
    ['RS256', 'RS256', { alg: 'RS256' }],
    ['Ed25519', 'Ed25519', { alg: 'Ed25519' }],
  ])('of %s can be by a CryptoKey, and by a JWK, whose kid it names', async (alg, ofJwk, members) => {
    const pair = await generateKeyPair(alg, { extractable: true });
    const jwk = { ...(await exportJWK(pair.privateKey)), ...members, ...named };
    const ofCryptoKey = alg === 'Ed25519' ? 'EdDSA' : alg;
    for (const [privateKey, header] of [
      [pair.privateKey, { alg: ofCryptoKey }],
      [jwk, { alg: ofJwk, ...named }],
    ] as const) {
      sent = [];
      const { revocations } = follow(() => undefined, { credentials: { clientId: 'api', privateKey } });
      await revocations.ready();
      await revocations.close();
      const [first] = at(TOKEN);
      if (first === undefined) throw new Error('No token was asked for.');
      expect((await readAssertion(first, pair.publicKey)).header).toMatchObject(header);
    }
  });
});

describe('credentials', () => {
  it('with anything but a private key are refused, and nothing of it is repeated', async () => {
    const secret = 'in-nobodys-log';
    const { privateKey } = generateKeyPairSync('ed25519');
    const wrong = [JSON.stringify({ kty: 'EC', d: secret }), secret, await exportJWK(key.publicKey)];
    for (const one of [...wrong, key.publicKey, privateKey, null, undefined]) {
      const credentials = { clientId: 'api', privateKey: one as JWK };
      const made = () => createGuard({ ...issuer.guardOptions, introspection: credentials });
      expect(made).toThrow(/^privateKey: a private JWK, or a CryptoKey\.$/);
      expect(() => follow(() => undefined, { credentials })).toThrow(/^privateKey: a private/);
    }
  });
});

describe('a proof', () => {
  const withBound: Play = ({ path }) => (path === TOKEN ? bound('t') : undefined);

  it('is for its request alone, with the nonce of the last answer and the hash of the token', async () => {
    const { revocations } = follow(withBound);
    await readFeed(2);
    await revocations.close();
    const [token, one, two] = await Promise.all([...at(TOKEN), ...at(FEED)].map(readProof));
    const common = { jti: expect.any(String), iat: NOW / 1000, jwk: token?.jwk };
    expect(token).toEqual({ ...common, htm: 'POST', htu: issuer.issuer + TOKEN });
    const ath = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from('t'))).toString('base64url');
    expect(one).toEqual({ ...common, htm: 'GET', htu: issuer.issuer + FEED, ath, nonce: 'n1' });
    expect(two).toEqual({ ...one, jti: expect.any(String) });
    expect(new Set([token, one, two].map((proof) => proof?.jti)).size).toBe(3);
    expect(at(FEED)[0]?.headers.get('authorization')).toBe('DPoP t');
  });

  it('is by another key than the assertion', async () => {
    await follow(withBound).revocations.ready();
    const [token] = await Promise.all(at(TOKEN).map(readProof));
    const jkt = await calculateJwkThumbprint(await exportJWK(key.publicKey));
    expect(Object.keys(token?.jwk ?? {}).sort()).toEqual(['crv', 'kty', 'x', 'y']);
    expect(await calculateJwkThumbprint(token?.jwk ?? {})).not.toBe(jkt);
  });

  it('is made once more with the nonce that a refusal says, and not a third time', async () => {
    const { revocations, onError } = follow((request, count) => {
      const wanted = refusal('use_dpop_nonce', { 'dpop-nonce': 'n1' }, 400);
      if (request.path === TOKEN) return count === 1 ? wanted : bound('t', `n${count}`);
      // The second request and its repetition are refused, each with another nonce.
      const isRefused = count === 1 || count === 3 || count === 4;
      return isRefused ? refusal('use_dpop_nonce', { 'dpop-nonce': `f${count}` }) : undefined;
    });
    await revocations.ready();
    expect(onError).not.toHaveBeenCalled();
    await readFeed(5);
    await revocations.close();
    const nonces = (await Promise.all(at(FEED).map(readProof))).map(({ nonce }) => nonce);
    expect(nonces.slice(0, 5)).toEqual(['n2', 'f1', 'f1', 'f3', 'n3']);
    expect(String(onError.mock.calls)).toMatch(/answered 401 use_dpop_nonce/);
    // A token that is refused is not used on.
    expect(at(TOKEN)).toHaveLength(3);
  });
});

describe('a server whose clock is ahead', () => {
  const ahead = 3_600_000;
  const date = new Date(NOW + ahead).toUTCString();
  const seconds = (NOW + ahead) / 1000;

  it('gets assertions and proofs by its own time, from the first refusal on', async () => {
    const { revocations, onError } = follow(({ path }, count) => {
      if (path === TOKEN) return count === 1 ? refusal('invalid_client', { date }) : bound('t');
      return undefined;
    });
    await revocations.ready();
    const [early, late] = await Promise.all(at(TOKEN).map((request) => readProof(request)));
    expect([early?.iat, late?.iat]).toEqual([NOW / 1000, seconds]);
    const text = at(TOKEN)[1]?.form.get('client_assertion') ?? '';
    const { payload } = await jwtVerify(text, key.publicKey, { currentDate: new Date(NOW + ahead) });
    expect([payload.iat, payload.exp]).toEqual([seconds, seconds + 60]);
    expect((await Promise.all(at(FEED).map(readProof)))[0]?.iat).toBe(seconds);
    expect(onError).not.toHaveBeenCalled();
  });

  it.each<[string, Record<string, string>]>([
    ['by a few seconds', { date: new Date(NOW + 3_000).toUTCString() }],
    ['as a cache has kept it', { date, age: '3600' }],
    ['and says no time', {}],
  ])('is not asked again %s', async (_, headers) => {
    const refuse: Play = ({ path }) => (path === TOKEN ? refusal('invalid_client', headers) : undefined);
    const { onError } = follow(refuse, { intervalMs: 60_000 });
    await vi.waitUntil(() => onError.mock.calls.length > 0, PATIENCE);
    expect(at(TOKEN)).toHaveLength(1);
    expect(String(onError.mock.calls)).toMatch(/\/oauth\/token answered 401 invalid_client$/);
  });
});

describe('an issuer that binds no tokens', () => {
  it('gets them as bearer tokens, without proofs', async () => {
    const { revocations } = follow(() => undefined);
    await revocations.ready();
    const [first] = at(FEED);
    expect(first?.headers.get('authorization')).toMatch(/^Bearer /);
    expect(first?.headers.has('dpop')).toBe(false);
  });
});
