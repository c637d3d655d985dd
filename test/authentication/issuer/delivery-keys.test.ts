// The keys with which a tenant signs deliveries: they begin, overlap and end with its issuer keys, and never make a
// token.
import { createHash, randomBytes } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { DeliveryKeyService } from '../../../src/authentication/issuer/delivery-key.service.ts';
import type { IssuerJwk } from '../../../src/authentication/issuer/issuer-key.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { signedHeaders } from '../../../src/webhooks/signing/signed-headers.node.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts, provisionTenant, requestTo } from '../tokens/accounts.ts';
import { codeOf } from '../tokens/refresh-fixture.ts';
import { BEGINNING, FROZEN_TIME, installFrozenClock, setClock } from './frozen-clock.ts';

const DAY = 86_400;
const BODY = Buffer.from('{"event_id":"evt_1"}');
const ORIGIN = 'https://hooks.example.com';

const test = await useTestDatabase(FROZEN_TIME);
let clock = BEGINNING;
let context: RequestContext;

await installFrozenClock(test.url);
const masterKeys = [{ id: 'test', key: randomBytes(32) }];
const accounts = createAccounts(test.database, { masterKeys, now: () => clock, monotonic: () => clock });
const deliveryKeys = new DeliveryKeyService(accounts);
beforeEach(async () => {
  const { tenant } = await provisionTenant(accounts, `t-${newId()}`);
  context = requestTo(tenant);
});

const pass = async (seconds: number) => {
  clock += seconds * 1_000;
  await setClock(test.database, clock);
};

async function work(): Promise<void> {
  const name = { tenantId: context.tenant.id };
  for (let standing = await accounts.issuerRotation.look(name); ; ) {
    const { kind } = standing.step;
    if (kind === 'wait' || kind === 'end') return;
    standing = await accounts.issuerRotation.perform(name, kind);
  }
}

async function sign(signatures: readonly string[]) {
  const signer = await deliveryKeys.prepare(context.tenant.id);
  const timestamp = Math.floor(clock / 1_000);
  const delivery = { deliveryId: newId(), eventType: 'a.b', body: BODY, maxAge: 300, timestamp };
  return signedHeaders({ ...delivery, signatures, signer, origin: ORIGIN, secrets: { current: 'x' } });
}

/** As a receiver does it: splits the header, and tries each key of the set. @returns the ids of the keys that signed */
async function signersOf(headers: Record<string, string>, keys?: readonly IssuerJwk[]) {
  const known = keys ?? (await deliveryKeys.jwks(context.tenant)).keys;
  const head = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`;
  const signed = Buffer.concat([Buffer.from(head), BODY]);
  return (headers['webhook-signature'] ?? '').split(' ').map((entry) => {
    expect(entry).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    const signature = Buffer.from(entry.slice(4), 'base64');
    return known.find(
      (key) => 'x' in key && ed25519.verify(signature, signed, Buffer.from(key.x, 'base64url')),
    )?.kid;
  });
}
const kidsOf = async () => (await deliveryKeys.jwks(context.tenant)).keys.map(({ kid }) => kid);

describe('a key for deliveries', () => {
  it('is there from the beginning, and in no set of keys that verify tokens', async () => {
    const { keys } = await deliveryKeys.jwks(context.tenant);
    expect(keys).toEqual([expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' })]);
    const tokens = (await accounts.issuer.jwks(context.tenant)).keys.map(({ kid }) => kid);
    expect(tokens).not.toContain(keys[0]?.kid);
    expect(await signersOf(await sign(['v1a']))).toEqual([keys[0]?.kid]);
  });

  it('is followed by the next one with the issuer key, and signs beside it for a day', async () => {
    await work();
    const [next, first] = await kidsOf();
    expect(await signersOf(await sign(['v1a']))).toEqual([first]);
    await pass(91 * DAY);
    await work();
    expect(await signersOf(await sign(['v1a']))).toEqual([next, first]);
    await pass(DAY + 3_600);
    await work();
    expect(await signersOf(await sign(['v1a']))).toEqual([next]);
    expect(await kidsOf()).not.toContain(first);
  });

  it('ends immediately with a revoked issuer key', async () => {
    await work();
    const [next, first] = await kidsOf();
    const before = (await deliveryKeys.jwks(context.tenant)).keys;
    const [{ kid } = { kid: '' }] = (await accounts.issuerKeys.read(context)).keys;
    await accounts.issuerKeys.revoke(context, kid, { reason: 'stolen' });
    expect(await kidsOf()).not.toContain(first);
    expect(await signersOf(await sign(['v1a']), before)).toEqual([next]);
    const { rows } = await test.database.query<{ sealed: boolean }>(
      'SELECT delivery_sealed IS NOT NULL AS sealed FROM issuer_keys WHERE kid = $1',
      [kid],
    );
    expect(rows).toEqual([{ sealed: false }]);
  });
});

describe('the token of a delivery', () => {
  const tokenOf = async () => (await sign(['jwt'])).authorization?.replace('Bearer ', '') ?? '';
  const verify = async (token: string, typ: string) =>
    jwtVerify(token, createLocalJWKSet(await accounts.issuer.jwks(context.tenant)), {
      ...{ issuer: context.tenant.issuerUrl, audience: ORIGIN, typ, currentDate: new Date(clock) },
    });

  it('is of the issuer for this receiver, this delivery and this body, and short-lived', async () => {
    const { payload, protectedHeader } = await verify(await tokenOf(), 'webhook+jwt');
    const iat = Math.floor(clock / 1_000);
    expect(payload).toEqual({
      iss: context.tenant.issuerUrl,
      aud: ORIGIN,
      jti: expect.any(String),
      iat,
      exp: iat + 300,
      body_sha256: createHash('sha256').update(BODY).digest('base64url'),
    });
    expect(protectedHeader.typ).toBe('webhook+jwt');
  });

  it('verifies on both sides of a rotation', async () => {
    await work();
    const before = await tokenOf();
    await accounts.issuerKeys.rotate(context);
    await pass(601);
    const after = await tokenOf();
    await expect(verify(after, 'webhook+jwt')).resolves.toBeDefined();
    clock -= 601_000;
    await expect(verify(before, 'webhook+jwt')).resolves.toBeDefined();
    clock += 601_000;
  });

  it('is no access token: not here, not at introspection, not at a resource server', async () => {
    const token = await tokenOf();
    expect(await codeOf(accounts.tokens.verifyAccessToken(context.tenant, token))).toBe('invalid_token');
    await expect(verify(token, 'at+jwt')).rejects.toMatchObject({ code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
    // Also where the receiver's origin is the audience of the tenant's access tokens.
    const signer = await deliveryKeys.prepare(context.tenant.id);
    const { iss, exp } = { iss: context.tenant.issuerUrl, exp: Math.floor(clock / 1_000) + 60 };
    const claims = {
      iss,
      exp,
      aud: context.tenant.audience,
      sub: 'a',
      client_id: 'a',
      scope: 'openid',
      jti: newId(),
    };
    const forged = signer.sign({ ...claims, iat: exp - 60 }, { typ: 'webhook+jwt' });
    expect(await codeOf(accounts.tokens.verifyAccessToken(context.tenant, forged))).toBe('invalid_token');
  });
});
