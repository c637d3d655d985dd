// Keys of security event tokens: made lazily, rotated and revoked beside the keys of access tokens, and never used for
// those.
import { randomBytes } from 'node:crypto';
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { beforeEach, describe, expect, it } from 'vitest';
import { stateOf } from '../../../src/authentication/issuer/key-schedule.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts, provisionTenant, requestTo } from '../tokens/accounts.ts';
import { codeOf } from '../tokens/refresh-fixture.ts';
import { BEGINNING, FROZEN_TIME, installFrozenClock, setClock } from './frozen-clock.ts';

const LIFETIME = 90 * 86_400;

const test = await useTestDatabase(FROZEN_TIME);
let clock = BEGINNING;
let context: RequestContext;

await installFrozenClock(test.url);
const masterKeys = [{ id: 'test', key: randomBytes(32) }];
const accounts = createAccounts(test.database, { masterKeys, now: () => clock, monotonic: () => clock });
beforeEach(async () => {
  const { tenant } = await provisionTenant(accounts, `t-${newId()}`);
  context = requestTo(tenant);
});

const pass = async (seconds: number) => {
  clock += seconds * 1000;
  await setClock(test.database, clock);
};
const ensure = () => test.database.transaction({}, (unit) => accounts.eventKeys.ensureKey(unit, context));
const read = () => accounts.eventKeys.read(context);
const states = async () => {
  const schedule = await read();
  return schedule.keys.map((key) => stateOf(key, schedule));
};
const sign = () => accounts.eventIssuer.sign(context.tenant, { jti: 'one' }, { typ: 'secevent+jwt' });
const kidOf = async () => decodeProtectedHeader(await sign()).kid;
const published = async () => (await accounts.eventIssuer.jwks(context.tenant)).keys.map(({ kid }) => kid);

/** What the tenant's workflow does until nothing is due. */
async function work(): Promise<void> {
  const name = { tenantId: context.tenant.id };
  for (let standing = await accounts.issuerRotation.look(name); ; ) {
    const { kind } = standing.step;
    if (kind === 'wait' || kind === 'end') return;
    standing = await accounts.issuerRotation.perform(name, kind);
  }
}

describe('event keys', () => {
  it('are there once they are needed, RS256 of 2,048 bits, and sign immediately', async () => {
    await work();
    expect(await published()).toEqual([]);
    await expect(sign()).rejects.toThrow(/no issuer key that signs/);
    await ensure();
    await ensure();
    const { keys } = await accounts.eventIssuer.jwks(context.tenant);
    expect(keys).toEqual([
      { kty: 'RSA', n: expect.any(String), e: 'AQAB', kid: expect.any(String), alg: 'RS256', use: 'sig' },
    ]);
    const [{ n = '' } = {}] = keys as { n?: string }[];
    expect(Buffer.from(n, 'base64url')).toHaveLength(256);
    const { protectedHeader } = await jwtVerify(await sign(), createLocalJWKSet({ keys }));
    expect(protectedHeader).toMatchObject({ alg: 'RS256', typ: 'secevent+jwt', kid: keys[0]?.kid });
  });

  it('verify no access token, and the keys of access tokens are others', async () => {
    await ensure();
    const kid = (await kidOf()) ?? '';
    expect(await accounts.issuer.verificationKey(context.tenant, kid)).toBeUndefined();
    expect((await accounts.issuer.jwks(context.tenant)).keys.map((key) => key.kid)).not.toContain(kid);
    const { id, issuerUrl, audience } = context.tenant;
    const seconds = Math.floor(clock / 1000);
    const claims = {
      iss: issuerUrl,
      sub: id,
      aud: audience,
      client_id: id,
      tenant_id: id,
      scope: 'tenant:write',
      jti: newId(),
      iat: seconds,
      exp: seconds + 300,
    };
    const forged = await accounts.eventIssuer.sign(context.tenant, claims, { typ: 'at+jwt' });
    expect(await codeOf(accounts.tokens.verifyAccessToken(context.tenant, forged))).toBe('invalid_token');
  });

  it('rotate by the same workflow, and their private halves are destroyed', async () => {
    await ensure();
    await work();
    expect(await states()).toEqual(['active', 'published']);
    const before = await kidOf();
    await pass(LIFETIME);
    expect(await kidOf()).not.toBe(before);
    await pass(60);
    await work();
    expect((await read()).keys.map(({ sealed }) => sealed)).toEqual([false, true, true]);
    expect(await published()).toHaveLength(3);
    await pass(87_000);
    await work();
    expect((await read()).keys).toHaveLength(2);
    expect(await published()).not.toContain(before);
  });

  it('are replaced immediately when one is revoked', async () => {
    await ensure();
    const before = (await kidOf()) ?? '';
    await accounts.eventKeys.revoke(context, before, { reason: 'a backup was stolen' });
    expect(await published()).not.toContain(before);
    expect(await kidOf()).not.toBe(before);
    expect((await accounts.issuerKeys.read(context)).keys.every(({ revokedAt }) => revokedAt === null)).toBe(
      true,
    );
  });

  it('are revoked by an operator through the workflow of the tenant', async () => {
    await ensure();
    const before = (await kidOf()) ?? '';
    const name = { tenantId: context.tenant.id };
    await accounts.issuerRotation.revokeByOperator(name, before, { reason: 'asked by phone' });
    expect(await published()).not.toContain(before);
  });
});
