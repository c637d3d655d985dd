// Rotations and revocations of issuer keys against a real database whose clock stands still, and their races.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type Schedule, stateOf } from '../../../src/authentication/issuer/key-schedule.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { readAudit, readEvents } from '../../identity/agents/agent-rooms.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';
import { type Accounts, createAccounts, provisionTenant, requestTo } from '../tokens/accounts.ts';
import { codeOf } from '../tokens/refresh-fixture.ts';
import { BEGINNING, FROZEN_TIME, installFrozenClock, setClock } from './frozen-clock.ts';

const LIFETIME = 90 * 86_400;

const test = await useTestDatabase(FROZEN_TIME);
let clock = BEGINNING;
let context: RequestContext;

await installFrozenClock(test.url);
const other = createPatientDatabase({ url: test.url, pool: 10, applicationName: 'other' });
const masterKeys = [{ id: 'test', key: randomBytes(32) }];
const options = { masterKeys, now: () => clock, monotonic: () => clock };
const [one, two] = [createAccounts(test.database, options), createAccounts(other, options)];
afterAll(() => other.close());
beforeEach(async () => {
  const { tenant } = await provisionTenant(one, `t-${newId()}`);
  context = requestTo(tenant);
  await insertSubscription(test.database, context, { filters: ['*'] });
});

const pass = async (seconds: number) => {
  clock += seconds * 1000;
  await setClock(test.database, clock);
};
const name = () => ({ tenantId: context.tenant.id });
const read = () => one.issuerKeys.read(context);
const statesOf = (schedule: Schedule) => schedule.keys.map((key) => stateOf(key, schedule));
const token = (accounts = one) =>
  accounts.tokens.issueAccessToken(context.tenant, {
    sub: context.tenant.id,
    clientId: context.tenant.id,
    audience: context.tenant.audience,
    scopes: ['openid'],
  });
const verify = (text: string, accounts = one) =>
  codeOf(accounts.tokens.verifyAccessToken(context.tenant, text));
const kidOf = ({ accessToken }: { accessToken: string }): string =>
  JSON.parse(Buffer.from(accessToken.split('.')[0] ?? '', 'base64url').toString()).kid;
const publishedKids = async (accounts = one) =>
  (await accounts.issuer.jwks(context.tenant)).keys.map(({ kid }) => kid);
const actions = async () =>
  (await readAudit(test.database, context.tenant.id))
    .map(({ action }) => String(action))
    .filter((action) => action.startsWith('issuer.'));
const typesOf = async () => (await readEvents(test.database, context.tenant.id)).map(({ type }) => type);

/** What the workflow does until nothing is due. */
async function work(): Promise<void> {
  for (let standing = await one.issuerRotation.look(name()); ; ) {
    const { kind } = standing.step;
    if (kind === 'wait' || kind === 'end') return;
    standing = await one.issuerRotation.perform(name(), kind);
  }
}

describe('the life of a key', () => {
  it('is written down when it is published, and comes without anybody’s help', async () => {
    const [first] = (await read()).keys;
    await work();
    const planned = await read();
    expect(statesOf(planned)).toEqual(['active', 'published']);
    const [old, next] = planned.keys;
    expect(next?.activateAt.getTime()).toBe(Number(first?.activateAt.getTime()) + LIFETIME * 1000);
    expect(old?.retireAt).toEqual(next?.activateAt);
    expect(old?.removeAt?.getTime()).toBe(Number(next?.activateAt.getTime()) + 87_000_000);
    expect(await publishedKids()).toEqual([next?.kid, old?.kid]);
    const before = await token();
    expect(kidOf(before)).toBe(old?.kid);

    await pass(LIFETIME);
    const fresh = await token();
    expect(kidOf(fresh)).toBe(next?.kid);
    expect(await verify(fresh.accessToken, two)).toBe('accepted');
    expect(statesOf(await read())).toEqual(['retired', 'active']);
  });

  it('ends with its private half destroyed, then with its row, each told and audited once', async () => {
    await work();
    await pass(LIFETIME + 60);
    await work();
    await work();
    const { keys } = await read();
    expect(keys.map(({ sealed }) => sealed)).toEqual([false, true, true]);
    expect(await publishedKids()).toHaveLength(3);
    await pass(87_000 - 61);
    await work();
    expect((await read()).keys).toHaveLength(3);
    await pass(1);
    expect(await publishedKids()).toHaveLength(2);
    await work();
    expect((await read()).keys).toHaveLength(2);
    const published = 'issuer.key.published';
    expect(await actions()).toEqual([
      published,
      published,
      published,
      'issuer.key.retired',
      'issuer.key.removed',
    ]);
    expect((await typesOf()).filter((type) => type === 'admin.issuer.key.rotated')).toHaveLength(1);
  });

  it('goes on when nobody publishes the next one for years', async () => {
    await work();
    await pass(5 * 365 * 86_400);
    const signed = await token();
    expect(await verify(signed.accessToken, two)).toBe('accepted');
    await work();
    const schedule = await read();
    expect(statesOf(schedule)).toEqual(['active', 'published']);
    expect(schedule.keys[1]?.activateAt.getTime()).toBe(clock + 600_000);
    expect(kidOf(await token())).toBe(kidOf(signed));
  });

  it('is mended when all keys are gone', async () => {
    await test.database.query('DELETE FROM issuer_keys WHERE tenant_id = $1', [context.tenant.id]);
    await work();
    expect(await verify((await token(two)).accessToken)).toBe('accepted');
  });
});

describe('a rotation now', () => {
  it('lets the next key sign immediately when it has been published for ten minutes', async () => {
    await work();
    const before = await token();
    await pass(600);
    const schedule = await one.issuerKeys.rotate(context, { reason: 'drill' });
    expect(statesOf(schedule)).toEqual(['retired', 'active']);
    const fresh = await token();
    expect(kidOf(fresh)).toBe(schedule.keys[1]?.kid);
    expect(await verify(before.accessToken)).toBe('token_expired');
    const rotated = (await readAudit(test.database, context.tenant.id)).at(-1);
    expect(rotated).toMatchObject({ action: 'issuer.key.rotated', data: { reason: 'drill' } });
  });

  it('of two together, in two processes, is one; so is it beside the automatic step', async () => {
    await work();
    await pass(600);
    const rotate = (accounts: Accounts) => accounts.issuerKeys.rotate(context);
    await Promise.all([
      rotate(one),
      rotate(two),
      rotate(one),
      rotate(two),
      one.issuerRotation.perform(name(), 'publish'),
      two.issuerRotation.perform(name(), 'publish'),
    ]);
    await work();
    expect(statesOf(await read())).toEqual(['retired', 'active', 'published']);
    expect((await actions()).filter((action) => action === 'issuer.key.rotated')).toHaveLength(1);
  });

  it('just as the automatic rotation comes is that one', async () => {
    await work();
    await pass(LIFETIME);
    const [, schedule] = await Promise.all([
      one.issuerRotation.perform(name(), 'publish'),
      two.issuerKeys.rotate(context),
    ]);
    expect(statesOf(schedule).filter((state) => state === 'active')).toHaveLength(1);
    expect(statesOf(await read())).toEqual(['retired', 'active', 'published']);
    expect(await actions()).not.toContain('issuer.key.rotated');
  });

  it('goes together with a change of algorithm', async () => {
    await work();
    await Promise.all([
      one.tenants.update(context, { signingAlgorithm: 'EdDSA' }),
      two.issuerKeys.rotate(context),
      one.issuerRotation.perform(name(), 'publish'),
    ]);
    await work();
    const { keys, now } = await read();
    const next = keys.find(({ activateAt }) => activateAt > now);
    expect(next).toMatchObject({ algorithm: 'EdDSA', activateAt: new Date(clock + 600_000) });
    await pass(600);
    await work();
    expect((await read()).keys.at(-1)).toMatchObject({ algorithm: 'EdDSA' });
    expect(statesOf(await read())).toEqual(['retired', 'active', 'published']);
  });
});

describe('a revocation', () => {
  it('ends what the key has signed, unpublishes it, and lets the next one sign', async () => {
    await work();
    await pass(1);
    const stolen = await token(two);
    expect(await verify(stolen.accessToken)).toBe('accepted');
    const kid = kidOf(stolen);
    const schedule = await one.issuerKeys.revoke(context, kid, { reason: 'stolen' });
    expect(statesOf(schedule)).toEqual(['revoked', 'active']);
    expect(schedule.keys[0]?.sealed).toBe(false);
    expect(await verify(stolen.accessToken)).toBe('token_revoked');
    expect(await verify(stolen.accessToken, two)).toBe('token_revoked');
    expect(await publishedKids()).not.toContain(kid);
    const fresh = await token();
    expect(kidOf(fresh)).toBe(schedule.keys[1]?.kid);
    expect(await verify(fresh.accessToken, two)).toBe('accepted');
    expect(await typesOf()).toContain('admin.issuer.key.revoked');
    await one.issuerKeys.revoke(context, kid, { reason: 'again' });
    expect((await actions()).filter((action) => action === 'issuer.key.revoked')).toHaveLength(1);
  });

  it('without a next key makes one that signs immediately', async () => {
    const [first] = (await read()).keys;
    await one.issuerKeys.revoke(context, first?.kid ?? '', { reason: 'stolen' });
    const fresh = await token();
    expect(kidOf(fresh)).not.toBe(first?.kid);
    expect(await verify(fresh.accessToken)).toBe('accepted');
  });

  it('of every key together, in two processes, leaves one that signs', async () => {
    await work();
    const kids = (await read()).keys.map(({ kid }) => kid);
    await Promise.all([
      ...kids.map((kid) => one.issuerKeys.revoke(context, kid, { reason: 'all' })),
      ...kids.map((kid) => two.issuerKeys.revoke(context, kid, { reason: 'all' })),
      two.issuerKeys.rotate(context),
    ]);
    await pass(2);
    expect(kids).not.toContain(kidOf(await token()));
    await work();
    expect(statesOf(await read()).filter((state) => state !== 'revoked')).toEqual(['active', 'published']);
    await pass(2 * 87_000);
    await work();
    expect(statesOf(await read())).toEqual(['active', 'published']);
  });

  it('of the next key leaves the present one as it is, and another is published', async () => {
    await work();
    const next = (await read()).keys[1]?.kid ?? '';
    const before = await token();
    const schedule = await one.issuerKeys.revoke(context, next, { reason: 'careful' });
    expect(schedule.keys[0]).toMatchObject({ retireAt: null, removeAt: null });
    expect(await verify(before.accessToken)).toBe('accepted');
    await work();
    expect(statesOf(await read()).sort()).toEqual(['active', 'published', 'revoked']);
  });

  it('is for the tenant’s own keys only', async () => {
    const { tenant } = await provisionTenant(one, `t-${newId()}`);
    const kid = (await read()).keys[0]?.kid ?? '';
    expect(await codeOf(one.issuerKeys.revoke(requestTo(tenant), kid, { reason: 'x' }))).toBe('not_found');
  });
});
