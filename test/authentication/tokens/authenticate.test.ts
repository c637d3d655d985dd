// Access tokens as others verify them, and which of them the service itself accepts.
import { createPrivateKey, generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import fc from 'fast-check';
import { createLocalJWKSet, type JWTHeaderParameters, jwtVerify, SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import type { Tenant } from '../../../src/platform/context.ts';
import { parseCompactJws } from '../../../src/platform/crypto/jws.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts, provisionTenant } from './accounts.ts';

let clock = Date.now();

const test = await useTestDatabase();
const accounts = createAccounts(test.database, { now: () => clock });
const { tenant } = await provisionTenant(accounts, 'demo');
const { tenant: other } = await provisionTenant(accounts, 'other');

const CLIENT = '0192f0c0-0000-7000-8000-000000000001';
const grant = () => ({
  sub: CLIENT,
  clientId: CLIENT,
  audience: tenant.baseUrl,
  scopes: ['agents:read', 'openid'],
});
const issue = async (changes: object = {}, at: Tenant = tenant) =>
  (await accounts.tokens.issueAccessToken(at, { ...grant(), ...changes })).accessToken;
const refusal = (token: string, at: Tenant = tenant) =>
  accounts.tokens.authenticate(at, token).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  );
const signed = (claims: object, typ: string) => accounts.issuer.sign(tenant, claims, { typ });
const claims = (changes: object = {}) => ({
  iss: tenant.issuerUrl,
  sub: CLIENT,
  aud: tenant.baseUrl,
  exp: Math.floor(clock / 1000) + 300,
  iat: Math.floor(clock / 1000),
  jti: CLIENT,
  scope: 'openid',
  client_id: CLIENT,
  subject_type: 'agent',
  tenant_id: tenant.id,
  ...changes,
});

describe('an access token', () => {
  it('verifies with jose and the published JWK set, and holds the claims of the specification only', async () => {
    const agent = { name: 'Robot', capabilities: ['web', 'mcp'] };
    const { accessToken, tokenId } = await accounts.tokens.issueAccessToken(tenant, { ...grant(), agent });
    const keys = createLocalJWKSet(await accounts.issuer.jwks(tenant));
    const { payload, protectedHeader } = await jwtVerify(accessToken, keys, {
      issuer: tenant.issuerUrl,
      audience: tenant.baseUrl,
      typ: 'at+jwt',
      algorithms: ['ES256'],
    });
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toEqual({ ...claims(), jti: tokenId, scope: 'agents:read openid', agent });
  });

  it('gives its principal, again and again', async () => {
    const token = await issue();
    const principal = await accounts.tokens.authenticate(tenant, token);
    expect(principal).toMatchObject({ kind: 'application', subject: CLIENT, clientId: CLIENT });
    expect(principal.scopes).toEqual(['agents:read', 'openid']);
    expect(await accounts.tokens.authenticate(tenant, token)).toEqual(principal);
  });

  it('is an agent’s when its subject is not its client', async () => {
    const sub = '0192f0c0-0000-7000-8000-000000000002';
    const principal = await accounts.tokens.authenticate(
      tenant,
      await issue({ sub, clientId: 'service-agent' }),
    );
    expect(principal).toMatchObject({ kind: 'agent', subject: sub, agentId: sub, clientId: 'service-agent' });
  });

  it('is good for the tenant’s audience as for its base URL', async () => {
    const named = { ...tenant, audience: 'https://api.example.com' };
    const token = await issue({ audience: 'https://api.example.com' });
    expect(await refusal(token, named)).toBe('accepted');
    expect(await refusal(await issue(), named)).toBe('accepted');
    expect(await refusal(token)).toBe('insufficient_scope');
  });

  it('expires to the second, without leeway, also when it was accepted before', async () => {
    const start = clock;
    clock = Math.ceil(clock / 1000) * 1000;
    const token = await issue();
    clock += 299_999;
    expect(await refusal(token)).toBe('accepted');
    clock += 1;
    expect(await refusal(token)).toBe('token_expired');
    clock = start;
  });

  it('is refused by another tenant, also when its own has accepted it', async () => {
    const token = await issue();
    expect(await refusal(token, other)).toBe('invalid_token');
    expect(await refusal(token)).toBe('accepted');
    // Another tenant at the same address: the key alone tells whose token it is.
    for (const name of [other, { ...tenant, id: other.id }])
      expect(await refusal(token, name)).toBe('invalid_token');
    expect(await refusal(await issue({}, other))).toBe('invalid_token');
  });

  it('ends when the tenant moves to another address', async () => {
    const token = await issue();
    expect(await refusal(token)).toBe('accepted');
    expect(await refusal(token, { ...tenant, issuerUrl: 'https://new.example' })).toBe('invalid_token');
  });

  it.each<[string, () => Promise<string>, string]>([
    ['another typ', () => signed(claims(), 'JWT'), 'invalid_token'],
    ['the long form of its typ', () => signed(claims(), 'application/at+jwt'), 'invalid_token'],
    ['another issuer', () => signed(claims({ iss: 'https://evil.example' }), 'at+jwt'), 'invalid_token'],
    ['another tenant id', () => signed(claims({ tenant_id: other.id }), 'at+jwt'), 'invalid_token'],
    ['a human subject', () => signed(claims({ subject_type: 'human' }), 'at+jwt'), 'invalid_token'],
    ['no exp', () => signed(claims({ exp: undefined }), 'at+jwt'), 'invalid_token'],
    ['a text as exp', () => signed(claims({ exp: '9999999999' }), 'at+jwt'), 'invalid_token'],
    ['a list of audiences', () => signed(claims({ aud: [tenant.baseUrl] }), 'at+jwt'), 'invalid_token'],
    ['a bound key, as plain bearer', () => signed(claims({ cnf: { jkt: 'x' } }), 'at+jwt'), 'invalid_token'],
    [
      'a confirmation of another kind',
      () => signed(claims({ cnf: { x5t: 'x' } }), 'at+jwt'),
      'invalid_token',
    ],
    ['an old expiry', () => signed(claims({ exp: 1 }), 'at+jwt'), 'token_expired'],
    ['another audience', () => signed(claims({ aud: 'https://x.example' }), 'at+jwt'), 'insufficient_scope'],
    ['more than 8 KiB', () => signed(claims({ scope: 'x'.repeat(8_000) }), 'at+jwt'), 'invalid_token'],
  ])('is refused with %s', async (_name, make, code) => {
    expect(await refusal(await make())).toBe(code);
  });

  it('is refused when forged: no algorithm, another key, a key of its own, a crit, an HMAC by the public key', async () => {
    const [jwk] = (await accounts.issuer.jwks(tenant)).keys;
    const { kid, ...rest } = jwk ?? { kid: '' };
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const typ = 'at+jwt';
    const header = { alg: 'ES256', typ, kid };
    const forge = (protectedHeader: JWTHeaderParameters, key: KeyObject | Uint8Array) =>
      new SignJWT(claims()).setProtectedHeader(protectedHeader).sign(key);
    const forged = [
      `${encode({ alg: 'none', typ, kid })}.${encode(claims())}.`,
      `${encode({ alg: 'none', typ, kid })}.${encode(claims())}.AA`,
      await forge(header, privateKey),
      await forge({ ...header, jwk: { ...rest } }, privateKey),
      await forge({ alg: 'HS256', typ, kid }, Buffer.from(JSON.stringify(jwk))),
      await forge({ ...header, kid: 'unknown' }, privateKey),
    ];
    for (const token of forged) expect(await refusal(token)).toBe('invalid_token');
  });

  it('is refused with a crit header although its signature is good', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const service = createAccounts(test.database);
    const kid = 'test-key';
    service.issuer.verificationKey = async () => ({ id: randomUUID(), algorithm: 'ES256', key: publicKey });
    const make = (header: object) => {
      const text = [{ alg: 'ES256', typ: 'at+jwt', kid, ...header }, claims()]
        .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
        .join('.');
      const key = createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }));
      return `${text}.${sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
    };
    await expect(service.tokens.authenticate(tenant, make({}))).resolves.toMatchObject({ clientId: CLIENT });
    await expect(service.tokens.authenticate(tenant, make({ crit: ['exp'], exp: 1 }))).rejects.toMatchObject({
      code: 'invalid_token',
    });
    await expect(service.tokens.authenticate(tenant, make({ alg: 'ES512' }))).rejects.toMatchObject({
      code: 'invalid_token',
    });
  });

  it('is refused after any change of a single character', async () => {
    const token = await issue();
    await fc.assert(
      fc.asyncProperty(
        fc.nat(token.length - 1),
        fc.constantFrom(...'AZaz09-_.=+/'),
        async (index, character) => {
          fc.pre(token[index] !== character);
          const changed = token.slice(0, index) + character + token.slice(index + 1);
          expect(await refusal(changed)).toBe('invalid_token');
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('a compact JWS', () => {
  it('is read only as three parts of canonical base64url around JSON objects', () => {
    const object = Buffer.from('{"a":1}').toString('base64url');
    expect(parseCompactJws(`${object}.${object}.AA`)).toMatchObject({ header: { a: 1 }, payload: { a: 1 } });
    const list = Buffer.from('[1]').toString('base64url');
    const bom = Buffer.from('\ufeff{}').toString('base64url');
    const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64url');
    for (const token of [
      '',
      object,
      `${object}.${object}`,
      `${object}.${object}.`,
      `${object}.${object}.AA.AA`,
      `${object}.${object}.AB`, // unused bits that are not zero
      `${object}=.${object}.AA`,
      `${list}.${object}.AA`,
      `${object}.${list}.AA`,
      `${bom}.${object}.AA`,
      `${bytes}.${object}.AA`,
      ` ${object}.${object}.AA`,
    ]) {
      expect(parseCompactJws(token)).toBeNull();
    }
  });

  it('is refused without an exception, whatever the text is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.base64String(), (text, encoded) => {
        parseCompactJws(text);
        parseCompactJws(`${encoded}.${encoded}.${encoded}`);
      }),
    );
  });
});
