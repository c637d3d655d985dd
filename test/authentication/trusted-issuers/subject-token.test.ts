// Users' tokens of trusted issuers: signed for real, keys fetched over a socket, the issuer read from a real database.
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { exportSPKI, importJWK, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { readJwkSet } from '../../../src/authentication/trusted-issuers/jwk-set.ts';
import { wireTrustedIssuers } from '../../../src/authentication/trusted-issuers/wire.ts';
import { createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createDelegationRooms } from '../delegations/delegation-rooms.ts';
import { AUDIENCE, answerKeys, ISSUER, newKey, startJwksServer } from './identity-provider.ts';

let service: ReturnType<typeof newService>;
const endings: (() => Promise<unknown>)[] = [];

function newService(clock = rooms.platform.clock) {
  const { subjects, closeTrustedIssuers: close } = wireTrustedIssuers(
    { ...rooms.platform, clock },
    rooms,
    PATIENCE.timeout,
  );
  endings.push(close);
  return subjects;
}
const verify = (token: string, tenant = context.tenant) => service.verifySubjectToken({ tenant }, token);
const refusal = (token: string, tenant = context.tenant): Promise<[string, string]> =>
  verify(token, tenant).then(
    () => ['accepted', ''],
    (error) => [error.code, error.detail],
  );
const now = () => Math.floor(Date.now() / 1000);

const { database } = await useTestDatabase();
const rooms = createDelegationRooms(database);
const context = await createTestTenant(rooms);
const provider = await newKey();
const server = await startJwksServer(answerKeys([provider.jwk]));
endings.push(() => server.close());
await rooms.trustedIssuers.create(context, {
  issuer: ISSUER,
  jwksUri: server.uri,
  audiences: [AUDIENCE, 'https://second.example'],
});
service = newService();
afterAll(async () => {
  for (const end of endings.reverse()) await end();
});

describe('a token of a trusted issuer', () => {
  it('names its user, with what it allows and until when', async () => {
    const exp = now() + 300;
    const act = { sub: 'x' };
    const mayAct = { sub: 'y' };
    const token = await provider.sign({ exp, scope: 'openid  email openid', act, may_act: mayAct });
    expect(await verify(token)).toEqual({
      issuer: ISSUER,
      sub: 'ada',
      scopes: ['email', 'openid'],
      exp,
      act,
      mayAct,
    });
    expect(await verify(await provider.sign({ exp }))).toEqual({ issuer: ISSUER, sub: 'ada', exp });
    expect((await verify(await provider.sign({ scp: ['b', 'a'] }))).scopes).toEqual(['a', 'b']);
    for (const claims of [
      { scope: '' },
      { scope: [] },
      { scope: null },
      { scope: null, scp: 'a' },
      { scp: null },
    ])
      expect((await verify(await provider.sign(claims))).scopes).toEqual([]);
  });

  it.each([
    ['one of the audiences', { aud: 'https://second.example' }, {}],
    ['an audience among others', { aud: ['https://x.example', AUDIENCE] }, {}],
    ['the type JWT', {}, { typ: 'JWT' }],
    ['the type of access tokens', {}, { typ: 'application/at+jwt' }],
    ['a clock that is a little ahead', { nbf: now() + 10, iat: now() + 10 }, {}],
  ])('is accepted with %s', async (_name, claims, header) => {
    expect((await refusal(await provider.sign(claims, header)))[0]).toBe('accepted');
  });

  it.each([
    ['for another audience', { aud: 'https://x.example' }, {}, 'aud'],
    ['without an audience', { aud: undefined }, {}, 'aud'],
    ['expired a second ago', { exp: now() - 1 }, {}, 'expired'],
    ['without an end', { exp: undefined }, {}, 'exp'],
    ['with an end that is no number', { exp: 'never' }, {}, 'exp'],
    ['not valid yet', { nbf: now() + 3_600 }, {}, 'nbf'],
    ['without a user', { sub: undefined }, {}, 'sub'],
    ['with an empty user', { sub: '' }, {}, 'sub'],
    ['with a user that no database keeps', { sub: 'a\u0000' }, {}, 'sub'],
    ['with a user that is no text', { sub: 7 }, {}, 'sub'],
    ['with an endless user', { sub: 'a'.repeat(256) }, {}, 'sub'],
    ['with a malformed scope', { scope: 'ä' }, {}, 'scope'],
    ['with a scope of another kind', { scope: { openid: true } }, {}, 'scope'],
    ['bound to a key', { cnf: { jkt: 'x' } }, {}, 'bound'],
    ['issued in the future', { iat: now() + 3_600, exp: now() + 7_200 }, {}, 'future'],
    ['of a type that is no text', {}, { typ: 5 as unknown as string }, 'type'],
    ['of another purpose', {}, { typ: 'dpop+jwt' }, 'type'],
    ['of a log-out', {}, { typ: 'logout+jwt' }, 'type'],
  ])('is refused %s', async (_name, claims, header, detail) => {
    const [code, text] = await refusal(await provider.sign(claims, header));
    expect([code, text]).toEqual(['invalid_request', expect.stringContaining(detail)]);
  });

  it.each(['https://idp.example/', 'https://other.example', 'http://idp.example', 'x\u0000', '', 7, null])(
    'is refused from the issuer %j, whom nobody trusts',
    async (iss) => {
      const before = server.requests;
      expect(await refusal(await provider.sign({ iss }))).toEqual([
        'invalid_request',
        expect.stringContaining('does not trust'),
      ]);
      expect(server.requests).toBe(before);
    },
  );

  it('is refused in a tenant that does not trust its issuer', async () => {
    const other = await createTestTenant(rooms);
    const token = await provider.sign();
    expect((await refusal(token))[0]).toBe('accepted');
    expect((await refusal(token, other.tenant))[0]).toBe('invalid_request');
  });
});

describe('a forged token', () => {
  it('is refused', async () => {
    const stranger = await newKey('ES256', provider.jwk.kid);
    expect(await refusal(await stranger.sign())).toEqual([
      'invalid_request',
      expect.stringContaining('signature'),
    ]);
    const [header, , signature] = (await provider.sign()).split('.');
    const other = (await provider.sign({ sub: 'eve' })).split('.')[1];
    expect((await refusal(`${header}.${other}.${signature}`))[0]).toBe('invalid_request');
  });

  it('is refused without a signature, or with the public key as a shared secret', async () => {
    const claims = { iss: ISSUER, sub: 'ada', aud: AUDIENCE, exp: now() + 60 };
    expect((await refusal(new UnsecuredJWT(claims).encode()))[0]).toBe('invalid_request');
    const spki = await exportSPKI((await importJWK(provider.jwk, 'ES256')) as CryptoKey);
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encode({ alg: 'HS256', kid: provider.jwk.kid })}.${encode(claims)}`;
    const mac = createHmac('sha256', spki).update(signed).digest('base64url');
    expect(await refusal(`${signed}.${mac}`)).toEqual(['invalid_request', expect.stringContaining('alg')]);
  });

  it('does not bring its own key, nor unknown rules', async () => {
    const stranger = await newKey('ES256', 'own');
    expect((await refusal(await stranger.sign({}, { jwk: stranger.jwk, kid: undefined })))[0]).toBe(
      'invalid_request',
    );
    const token = await provider.sign();
    const [, payload, signature] = token.split('.');
    const header = Buffer.from('{"alg":"ES256","crit":["x"],"x":1}').toString('base64url');
    expect((await refusal(`${header}.${payload}.${signature}`))[0]).toBe('invalid_request');
  });

  it.each(['', 'x', 'a.b', 'a.b.c', '..', 'a.b.c.d.e', `${'a'.repeat(20_000)}.b.c`])(
    '%j is none',
    async (text) => {
      expect((await refusal(text))[0]).toBe('invalid_request');
    },
  );
});

describe('the keys of an issuer', () => {
  it.each(['RS256', 'PS384', 'ES512', 'EdDSA'])('may be inline, and sign with %s', async (alg) => {
    const tenant = await createTestTenant(rooms);
    const key = await newKey(alg);
    const keys = readJwkSet({ keys: [key.jwk] }) ?? [];
    await rooms.trustedIssuers.create(tenant, {
      issuer: ISSUER,
      jwks: { keys },
      audiences: [AUDIENCE],
    });
    expect((await verify(await key.sign(), tenant.tenant)).sub).toBe('ada');
    expect((await refusal(await provider.sign(), tenant.tenant))[0]).toBe('invalid_request');
  });

  it('are fetched once for many simultaneous tokens, and again for a new key after a pause', async () => {
    let time = 0;
    service = newService({ ...rooms.platform.clock, monotonic: () => time });
    const before = server.requests;
    const tokens = await Promise.all(Array.from({ length: 20 }, () => provider.sign()));
    await Promise.all(tokens.map((token) => verify(token)));
    expect(server.requests).toBe(before + 1);
    const stranger = await newKey('ES256', 'unknown');
    const token = await stranger.sign();
    expect((await refusal(token))[0]).toBe('temporarily_unavailable');
    expect(server.requests).toBe(before + 1);
    time += 5_000;
    expect(await refusal(token)).toEqual(['invalid_request', expect.stringContaining('does not have')]);
    expect(server.requests).toBe(before + 2);
    service = newService();
  });

  it('that cannot be had say nothing of the token', async () => {
    const tenant = await createTestTenant(rooms);
    const closed = await startJwksServer((_request, response) => response.writeHead(500).end('inside'));
    await rooms.trustedIssuers.create(tenant, { issuer: ISSUER, jwksUri: closed.uri, audiences: [AUDIENCE] });
    const [code, detail] = await refusal(await provider.sign(), tenant.tenant);
    expect(code).toBe('temporarily_unavailable');
    expect(detail).not.toMatch(/500|127\.0\.0\.1|inside/);
    const { data } = await rooms.trustedIssuers.list(tenant, { limit: 1 });
    expect(data).toMatchObject([{ fetchError: 'the answer has another status than 200 (http:500)' }]);
    await closed.close();
  });

  it('count from the moment that the issuer is changed, or trusted no longer', async () => {
    const tenant = await createTestTenant(rooms);
    const trusted = await rooms.trustedIssuers.create(tenant, {
      issuer: ISSUER,
      jwksUri: server.uri,
      audiences: [AUDIENCE],
    });
    const token = await provider.sign();
    expect((await refusal(token, tenant.tenant))[0]).toBe('accepted');
    const successor = await newKey('ES256', 'successor');
    const next = await startJwksServer(answerKeys([successor.jwk]));
    await rooms.trustedIssuers.update(tenant, trusted.id, { jwksUri: next.uri });
    expect((await refusal(token, tenant.tenant))[0]).toBe('invalid_request');
    expect((await refusal(await successor.sign(), tenant.tenant))[0]).toBe('accepted');
    await rooms.trustedIssuers.update(tenant, trusted.id, { audiences: ['https://elsewhere.example'] });
    expect((await refusal(await successor.sign(), tenant.tenant))[1]).toContain('aud');
    await rooms.trustedIssuers.remove(tenant, trusted.id);
    expect((await refusal(await successor.sign(), tenant.tenant))[1]).toContain('does not trust');
    await next.close();
  });

  it('without a kid must be the only ones that fit', async () => {
    const nameless = await newKey('ES256', undefined);
    const { jwk } = await newKey('ES256', undefined);
    const tenant = await createTestTenant(rooms);
    const keys = await startJwksServer(answerKeys([nameless.jwk]));
    const create = (uri: string) => ({ issuer: ISSUER, jwksUri: uri, audiences: [AUDIENCE] });
    const { id } = await rooms.trustedIssuers.create(tenant, create(keys.uri));
    expect((await refusal(await nameless.sign(), tenant.tenant))[0]).toBe('accepted');
    keys.handler = answerKeys([nameless.jwk, jwk]);
    await rooms.trustedIssuers.update(tenant, id, { jwksUri: `${keys.uri}?again` });
    expect((await refusal(await nameless.sign(), tenant.tenant))[1]).toContain('several keys');
    await keys.close();
  });

  it('of an issuer may hold one that is no key at all', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const offCurve = { ...publicKey.export({ format: 'jwk' }), x: 'A'.repeat(43), kid: 'odd' };
    const tenant = await createTestTenant(rooms);
    const keys = await startJwksServer(answerKeys([offCurve, provider.jwk]));
    await rooms.trustedIssuers.create(tenant, { issuer: ISSUER, jwksUri: keys.uri, audiences: [AUDIENCE] });
    expect((await refusal(await provider.sign(), tenant.tenant))[0]).toBe('accepted');
    const odd = new SignJWT({ iss: ISSUER, sub: 'ada', aud: AUDIENCE, exp: now() + 60 });
    const token = await odd.setProtectedHeader({ alg: 'ES256', kid: 'odd' }).sign(provider.privateKey);
    expect((await refusal(token, tenant.tenant))[0]).toBe('invalid_request');
    await keys.close();
  });
});
