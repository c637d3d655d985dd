// Client authentication by signed assertions (RFC 7523): every rule, and one use each.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { calculateJwkThumbprint, type JWK, SignJWT } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import type { Tenant } from '../../../src/platform/context.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { type Accounts, basic, createAccounts, provisionTenant, requestTo } from './accounts.ts';
import { codeOf } from './refresh-fixture.ts';

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const test = await useTestDatabase();
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const legacy = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });

const accounts = createAccounts(test.database);
const second = createAccounts(test.database, { masterKeys: accounts.masterKeys });
const { tenant } = await provisionTenant(accounts, 'demo');
const jwks = readApplicationJwks({
  keys: [
    { ...ec.publicKey.export({ format: 'jwk' }), kid: 'first', use: 'sig' },
    { ...ed.publicKey.export({ format: 'jwk' }) },
    { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', alg: 'PS256' },
    { ...legacy.publicKey.export({ format: 'jwk' }), alg: 'RS256' },
  ],
});
const made = await accounts.applications.create(requestTo(tenant), {
  name: 'Client',
  scopes: ['openid'],
  jwks,
});
const clientId = made.application.id;
const clientSecret = made.clientSecret;
afterAll(() => accounts.clientRecords.close());

type Given = {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: typeof ec.privateKey;
};
const seconds = () => Math.floor(Date.now() / 1000);

function assertion({ claims = {}, header = {}, key = ec.privateKey }: Given = {}): Promise<string> {
  const payload = {
    iss: clientId,
    sub: clientId,
    aud: tenant.issuerUrl,
    exp: seconds() + 60,
    jti: randomUUID(),
  };
  return new SignJWT({ ...payload, ...claims }).setProtectedHeader({ alg: 'ES256', ...header }).sign(key);
}

const request = (
  client_assertion: string,
  more: Record<string, string> = {},
  { from = accounts, address, of = tenant }: { from?: Accounts; address?: string; of?: Tenant } = {},
) =>
  from.tokenEndpoint.requestToken(requestTo(of, address), {
    authorization: undefined,
    parameters: {
      grant_type: 'client_credentials',
      client_assertion_type: TYPE,
      client_assertion,
      ...more,
    },
  });

describe('a client assertion', () => {
  it.each<[string, Given]>([
    ['ES256', {}],
    ['ES256 with its kid', { header: { kid: 'first' } }],
    ['EdDSA', { header: { alg: 'EdDSA' }, key: ed.privateKey }],
    ['EdDSA by its newer name', { header: { alg: 'Ed25519' }, key: ed.privateKey }],
    ['PS256', { header: { alg: 'PS256' }, key: rsa.privateKey }],
    ['PS256 with its kid', { header: { alg: 'PS256', kid: 'rsa' }, key: rsa.privateKey }],
    ['RS256', { header: { alg: 'RS256' }, key: legacy.privateKey }],
    ['its explicit type', { header: { typ: 'client-authentication+jwt' } }],
    ['its explicit type in full', { header: { typ: 'application/Client-Authentication+JWT' } }],
    ['the general type', { header: { typ: 'JWT' } }],
    ['the issuer in a list', { claims: { aud: ['http://localhost:8080'] } }],
    ['five minutes to live', { claims: { exp: seconds() + 295 } }],
  ])('with %s gets a token', async (_name, given) => {
    const { answer } = await request(await assertion(given), { client_id: clientId });
    expect(answer).toMatchObject({ token_type: 'Bearer', scope: 'openid' });
  });

  it.each<[string, Given]>([
    ['another audience', { claims: { aud: 'https://other.example' } }],
    ['the token endpoint as audience', { claims: { aud: 'http://localhost:8080/oauth/token' } }],
    ['two audiences', { claims: { aud: ['http://localhost:8080', 'https://other.example'] } }],
    ['another sub', { claims: { sub: randomUUID() } }],
    ['an unknown client', { claims: { iss: 'x', sub: 'x' } }],
    ['no exp', { claims: { exp: undefined } }],
    ['an exp in the past', { claims: { exp: seconds() - 1 } }],
    ['an exp more than five minutes ahead', { claims: { exp: seconds() + 400 } }],
    ['an nbf in the future', { claims: { nbf: seconds() + 400 } }],
    ['no jti', { claims: { jti: undefined } }],
    ['an endless jti', { claims: { jti: 'x'.repeat(257) } }],
    ['a key of somebody else', { key: stranger.privateKey }],
    ['RS256 by a key for PS256', { header: { alg: 'RS256' }, key: rsa.privateKey }],
    ['PS256 by a key for RS256', { header: { alg: 'PS256' }, key: legacy.privateKey }],
    ['PS384 by a key for PS256', { header: { alg: 'PS384' }, key: rsa.privateKey }],
    ['the type of an access token', { header: { typ: 'at+jwt' } }],
    ['the type of a proof', { header: { typ: 'dpop+jwt' } }],
    ['a kid that is not its key’s', { header: { kid: 'second' } }],
  ])('with %s is invalid_client', async (_name, given) => {
    expect(await codeOf(request(await assertion(given)))).toBe('invalid_client');
  });

  it('for another audience is told which one is wanted', async () => {
    const text = await assertion({ claims: { aud: `${tenant.issuerUrl}/` } });
    await expect(request(text)).rejects.toMatchObject({
      detail: `The client assertion must have the issuer, ${tenant.issuerUrl}, as its only aud.`,
    });
  });

  it('from before a suspension of the tenant is invalid_client after it', async () => {
    const resumed = { ...tenant, resumedAt: new Date((seconds() - 5) * 1000) };
    const present = async (claims: Record<string, unknown>) => {
      const parameters = {
        grant_type: 'client_credentials',
        client_assertion_type: TYPE,
        client_assertion: await assertion({ claims }),
      };
      return codeOf(
        accounts.tokenEndpoint.requestToken(requestTo(resumed), { authorization: undefined, parameters }),
      );
    };
    expect(await present({ iat: seconds() - 10 })).toBe('invalid_client');
    // Without iat it may have been made as early as its end allows.
    expect(await present({})).toBe('invalid_client');
    expect(await present({ iat: seconds() })).toBe('accepted');
  });

  it('that is no JWS, or one without a signature, is invalid_client', async () => {
    const [header, payload] = (await assertion()).split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const text of ['x', 'a.b.c', `${header}.${payload}.`, `${none}.${payload}.AAAA`])
      expect(await codeOf(request(text))).toBe('invalid_client');
    expect(await codeOf(request(await assertion(), { client_assertion_type: 'other' }))).toBe(
      'invalid_client',
    );
  });

  it('is used once: of 100 concurrent uses in two processes exactly one passes', async () => {
    const text = await assertion();
    const codes = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        codeOf(request(text, {}, { from: index % 2 ? accounts : second, address: `192.0.2.${index}` })),
      ),
    );
    expect(codes.filter((code) => code === 'accepted')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['accepted', 'invalid_client']));
  });

  it('serves again for the same request after a lost answer, three times within 10 s', async () => {
    const text = await assertion({ claims: { jti: 'lost' } });
    const { answer } = await request(text);
    const repeated = await Promise.all([1, 2, 3].map(() => request(text)));
    for (const again of repeated) expect(again.answer).toMatchObject({ scope: answer.scope });
    expect(await codeOf(request(text))).toBe('invalid_client');
    const late = await assertion({ claims: { jti: 'late' } });
    await request(late);
    await test.database.query("UPDATE client_assertions SET used_at = used_at - interval '10 s'");
    expect(await codeOf(request(late))).toBe('invalid_client');
  });

  it.each<[string, Record<string, string>, { address?: string; of?: () => Tenant }]>([
    ['another address', {}, { address: '198.51.100.1' }],
    ['another scope', { scope: 'openid' }, {}],
    ['the profile fapi2', {}, { of: () => ({ ...tenant, securityProfile: 'fapi2' }) }],
  ])('does not serve again with %s', async (_name, more, { of = () => tenant, ...options }) => {
    const text = await assertion();
    await codeOf(request(text, {}, { of: of() }));
    expect(await codeOf(request(text, more, { ...options, of: of() }))).toBe('invalid_client');
  });

  it('does not serve again beside a proof by another key', async () => {
    const key = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const claims = { htm: 'POST', htu: `${tenant.issuerUrl}/oauth/token`, iat: seconds(), jti: randomUUID() };
    const proof = await new SignJWT(claims)
      .setProtectedHeader({
        alg: 'ES256',
        typ: 'dpop+jwt',
        jwk: key.publicKey.export({ format: 'jwk' }) as JWK,
      })
      .sign(key.privateKey);
    const text = await assertion();
    await request(text);
    const parameters = {
      grant_type: 'client_credentials',
      client_assertion_type: TYPE,
      client_assertion: text,
    };
    const stolen = { authorization: undefined, parameters, proofs: [proof] };
    expect(await codeOf(accounts.tokenEndpoint.requestToken(requestTo(tenant), stolen))).toBe(
      'invalid_client',
    );
  });

  it('is not used up by a check that fails', async () => {
    const jti = randomUUID();
    const foreign = await assertion({ claims: { jti }, key: stranger.privateKey });
    expect(await codeOf(request(foreign))).toBe('invalid_client');
    expect(await codeOf(request(await assertion({ claims: { jti } })))).toBe('accepted');
  });

  it('of an unknown client and one with a wrong signature are refused in the same words', async () => {
    const unknown = randomUUID();
    const told = async (given: Given) => {
      const text = await assertion(given);
      return request(text).then(
        () => 'accepted',
        ({ code, message }: Error & { code: string }) => `${code}: ${message}`,
      );
    };
    const without = await accounts.applications.create(requestTo(tenant), {
      name: 'Keyless',
      scopes: ['openid'],
    });
    for (const claims of [{}, { aud: 'https://other.example' }, { exp: seconds() - 10 }]) {
      const answers = await Promise.all(
        [clientId, unknown, without.application.id].map((id) =>
          told({ claims: { iss: id, sub: id, ...claims }, key: stranger.privateKey }),
        ),
      );
      expect(new Set(answers).size).toBe(1);
      expect(answers[0]).toMatch(/^invalid_client: /);
    }
  });

  it('is on record with the thumbprint of the key that signed, and a failed one as such', async () => {
    const context = requestTo(tenant, '203.0.113.77');
    const parameters = { grant_type: 'client_credentials', client_assertion_type: TYPE };
    const ask = async (given: Given) =>
      accounts.tokenEndpoint.requestToken(context, {
        authorization: undefined,
        parameters: { ...parameters, client_assertion: await assertion(given) },
      });
    await ask({ header: { alg: 'EdDSA' }, key: ed.privateKey });
    expect(await codeOf(ask({ key: stranger.privateKey }))).toBe('invalid_client');
    await accounts.clientRecords.settled();
    const { rows } = await test.database.query<{ action: string; data: Record<string, string> }>(
      "SELECT action, data FROM audit_log WHERE client_address = '203.0.113.77' AND action LIKE 'auth.login.%' ORDER BY id",
    );
    const credential = await calculateJwkThumbprint(ed.publicKey.export({ format: 'jwk' }) as JWK);
    expect(rows).toEqual([
      {
        action: 'auth.login.success',
        data: { method: 'client_credentials', client_auth: 'private_key_jwt', credential },
      },
      {
        action: 'auth.login.failure',
        data: { method: 'client_credentials', client_auth: 'private_key_jwt' },
      },
    ]);
  });

  it('beside another way of authenticating is invalid_request', async () => {
    const parameters = { grant_type: 'client_credentials', client_assertion_type: TYPE };
    const both = accounts.tokenEndpoint.requestToken(requestTo(tenant), {
      authorization: basic(clientId, clientSecret),
      parameters: { ...parameters, client_assertion: await assertion() },
    });
    expect(await codeOf(both)).toBe('invalid_request');
    expect(await codeOf(request(await assertion(), { client_secret: 'x' }))).toBe('invalid_request');
    expect(await codeOf(request(await assertion(), { client_id: randomUUID() }))).toBe('invalid_request');
  });
});

/** An odd number of this many bytes. */
const modulus = (bytes: number) => Buffer.alloc(bytes, 0xff).toString('base64url');

describe('the keys of an application', () => {
  const jwk = ec.publicKey.export({ format: 'jwk' });
  it.each<[string, Record<string, unknown>[]]>([
    ['a private key', [{ ...ec.privateKey.export({ format: 'jwk' }) }]],
    [
      'another curve',
      [{ ...generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }) }],
    ],
    ['a tiny RSA key', [{ kty: 'RSA', n: 'AQ', e: 'AQAB' }]],
    ['RSA of 2,040 bits', [{ kty: 'RSA', n: modulus(255), e: 'AQAB' }]],
    ['RSA of 4,104 bits', [{ kty: 'RSA', n: modulus(513), e: 'AQAB' }]],
    ['RSA with the exponent 1', [{ kty: 'RSA', n: modulus(256), e: 'AQ' }]],
    ['RSA with an even exponent', [{ kty: 'RSA', n: modulus(256), e: 'BA' }]],
    ['RSA with a long exponent', [{ kty: 'RSA', n: modulus(256), e: 'AQAAAAAB' }]],
    ['RSA for RS384', [{ kty: 'RSA', n: modulus(256), e: 'AQAB', alg: 'RS384' }]],
    [
      'one RSA key for two algorithms',
      ['PS256', 'RS256'].map((alg) => ({ kty: 'RSA', n: modulus(256), e: 'AQAB', alg })),
    ],
    ['RSA for encryption', [{ kty: 'RSA', n: modulus(256), e: 'AQAB', use: 'enc' }]],
    ['a private RSA key', [{ ...rsa.privateKey.export({ format: 'jwk' }) }]],
    ['a point off the curve', [{ ...jwk, y: jwk.x }]],
    ['the same key twice', [{ ...jwk }, { ...jwk, kid: 'other' }]],
    [
      'a kid twice',
      [
        { ...jwk, kid: 'k' },
        { ...ed.publicKey.export({ format: 'jwk' }), kid: 'k' },
      ],
    ],
  ])('refuse %s', (_name, keys) => {
    expect(() => readApplicationJwks({ keys })).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('name a zero byte before the modulus, which would give the key a second thumbprint', () => {
    const n = Buffer.concat([Buffer.alloc(1), Buffer.alloc(256, 0xff)]).toString('base64url');
    expect(() => readApplicationJwks({ keys: [{ kty: 'RSA', n, e: 'AQAB' }] })).toThrow(
      expect.objectContaining({
        errors: [expect.objectContaining({ message: expect.stringContaining('zero byte') })],
      }),
    );
  });

  it('take RSA for RS256, except under the profile fapi2', () => {
    const key = { kty: 'RSA', n: modulus(256), e: 'AQAB', alg: 'RS256' };
    expect(readApplicationJwks({ keys: [key] })).toEqual({ keys: [key] });
    expect(() => readApplicationJwks({ keys: [key] }, { securityProfile: 'fapi2' })).toThrow(
      expect.objectContaining({
        errors: [{ path: 'body.jwks.keys.0', message: 'is an RSA key with another alg than PS256' }],
      }),
    );
  });

  it.each([256, 384, 512])('take RSA of %d bytes, for PS256', (bytes) => {
    const key = { kty: 'RSA', n: modulus(bytes), e: 'AQAB' };
    expect(readApplicationJwks({ keys: [{ ...key, use: 'sig' }] })).toEqual({
      keys: [{ ...key, alg: 'PS256' }],
    });
  });
});
