// issuerKeyRotation against a real Temporal and a real Postgres, whose clock a test can move: each step, what operators
// do, and each part away for a while.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../src/platform/context.ts';
import { readAudit } from '../identity/agents/agent-rooms.ts';
import { eventually } from './delivery-engine.ts';
import { createIssuerKeyEngine } from './issuer-key-engine.ts';

const LIFETIME = 90 * 86_400;

const engine = await createIssuerKeyEngine({ lifetime: LIFETIME });
afterAll(() => engine.close());

const prepared = ({ tenant }: RequestContext) =>
  engine.stands(tenant.id, ({ next }) => next !== null, 'the next key');
const handleOf = ({ tenant }: RequestContext) => engine.workflow(tenant.id);
const runOf = async (context: RequestContext) => (await handleOf(context).describe()).runId;
const keysOf = async (context: RequestContext) => (await engine.accounts.issuerKeys.read(context)).keys;
const auditOf = async (context: RequestContext) =>
  (await readAudit(engine.database, context.tenant.id)).filter(({ action }) => action.startsWith('issuer.'));

/** Virtual time passes, and the workflow looks, as it does daily by itself. */
async function pass(context: RequestContext, seconds: number) {
  await engine.pass(seconds);
  await handleOf(context).signal('changed');
}

describe('with everything there', () => {
  const stops: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    stops.push(engine.startRunner(), await engine.startWorker());
  });
  afterAll(async () => {
    await engine.toldAll();
    for (const stop of stops) await stop();
  });

  it('publishes the next key, destroys the old one’s private half once that signs, and removes it, in one run', async () => {
    const context = await engine.newTenant();
    const { signing, next, state } = await prepared(context);
    expect(state).toBe('steady');
    const run = await runOf(context);
    await pass(context, LIFETIME);
    const rotated = await engine.stands(
      context.tenant.id,
      (now) => now.signing?.kid === next?.kid && now.next !== null,
      'the activation',
    );
    expect(rotated).toMatchObject({ state: 'rotating', retired: { count: 1 } });
    expect((await keysOf(context)).map(({ sealed }) => sealed)).toEqual([true, true, true]);
    await pass(context, 60);
    await eventually(async () => (await keysOf(context))[0]?.sealed === false, 'the end of the private half');
    await pass(context, 87_000);
    await engine.stands(context.tenant.id, ({ retired }) => retired === null, 'the removal');
    expect((await keysOf(context)).map(({ kid }) => kid)).not.toContain(signing?.kid);
    expect(await runOf(context)).toBe(run);
  });

  it('is found by tenant and state, tells what it is about, and holds no secret', async () => {
    const context = await engine.newTenant();
    const { tenant } = context;
    await prepared(context);
    const query = `TenantId="${tenant.id}" AND EntityState="steady" AND WorkflowType="issuerKeyRotation"`;
    await eventually(async () => (await engine.client.workflow.count(query)).count === 1, 'its visibility');
    const described = await handleOf(context).describe();
    const { userMetadata } = described.raw.executionConfig ?? {};
    expect(Buffer.from(userMetadata?.summary?.data ?? []).toString()).toContain(tenant.slug);
    const { rows } = await engine.database.query<{ sealed: Buffer }>(
      'SELECT private_sealed AS sealed FROM issuer_keys WHERE tenant_id = $1',
      [tenant.id],
    );
    const history = JSON.stringify(await handleOf(context).fetchHistory());
    for (const { sealed } of rows)
      for (const text of [sealed.toString('base64'), sealed.toString('hex')])
        expect(history).not.toContain(text.slice(0, 40));
  });

  it('lets an operator rotate, who is audited, and answers with how the keys stand then', async () => {
    const context = await engine.newTenant();
    const { next } = await prepared(context);
    await expect(handleOf(context).executeUpdate('rotate', { args: ['x'.repeat(501)] })).rejects.toThrow();
    await engine.pass(600);
    const answer = await handleOf(context).executeUpdate('rotate', { args: ['drill'] });
    expect(answer).toMatchObject({ signing: { kid: next?.kid } });
    expect((await auditOf(context)).find(({ action }) => action === 'issuer.key.rotated')).toMatchObject({
      actor_kind: 'operator',
      actor_id: engine.client.options.identity,
      target_id: next?.kid,
      data: { reason: 'drill' },
    });
    await engine.stands(context.tenant.id, (now) => now.next !== null && now.next.kid !== next?.kid);
    // Of several together, and with the tenant's own beside them, one counts.
    const before = (await keysOf(context)).length;
    await Promise.all([
      handleOf(context).executeUpdate('rotate'),
      handleOf(context).executeUpdate('rotate', { args: ['me too'] }),
      engine.accounts.issuerKeys.rotate(context, { reason: 'and me' }),
    ]);
    expect(await keysOf(context)).toHaveLength(before);
    expect((await auditOf(context)).filter(({ action }) => action === 'issuer.key.rotated')).toHaveLength(1);
  });

  it('lets an operator revoke, with a reason and a key of the tenant only', async () => {
    const context = await engine.newTenant();
    const { signing, next } = await prepared(context);
    const stranger = await engine.newTenant();
    const foreign = (await keysOf(stranger))[0]?.kid ?? '';
    const revoke = (...args: [string, ...string[]]) => handleOf(context).executeUpdate('revoke', { args });
    const kid = signing?.kid ?? '';
    await expect(revoke(kid)).rejects.toThrow();
    await expect(revoke('not a kid', 'stolen')).rejects.toThrow();
    await expect(revoke(foreign, 'stolen')).rejects.toThrow();
    const answer = await revoke(kid, 'stolen');
    expect(answer).toMatchObject({ signing: { kid: next?.kid }, revoked: [kid] });
    expect((await auditOf(context)).find(({ action }) => action === 'issuer.key.revoked')).toMatchObject({
      actor_kind: 'operator',
      actor_id: engine.client.options.identity,
      target_id: kid,
      data: { reason: 'stolen' },
    });
    await engine.stands(context.tenant.id, (now) => now.state === 'revoked' && now.next !== null);
    expect((await keysOf(stranger)).every(({ revokedAt }) => revokedAt === null)).toBe(true);
  });

  it('publishes another key when the algorithm changes, and goes on with that', async () => {
    const context = await engine.newTenant();
    const { next } = await prepared(context);
    await engine.accounts.tenants.update(context, { signingAlgorithm: 'EdDSA' });
    const changed = await engine.stands(
      context.tenant.id,
      (now) => now.next !== null && now.next.kid !== next?.kid,
    );
    await pass(context, 600);
    await engine.stands(
      context.tenant.id,
      (now) => now.signing?.kid === changed.next?.kid && now.next !== null,
    );
    const algorithms = (await keysOf(context)).map(({ algorithm }) => algorithm);
    expect(algorithms).toEqual(['ES256', 'EdDSA', 'EdDSA']);
  });

  it('begins its history anew before it grows long, and misses nothing by that', async () => {
    const context = await engine.newTenant();
    const { next } = await prepared(context);
    const run = await runOf(context);
    const length = async () => (await handleOf(context).describe()).historyLength;
    let longest = 0;
    await eventually(async () => {
      await Promise.all(Array.from({ length: 20 }, () => handleOf(context).signal('changed')));
      await prepared(context);
      longest = Math.max(longest, await length());
      return (await runOf(context)) !== run;
    }, 'another run');
    expect(longest).toBeLessThanOrEqual(1_000);
    await pass(context, LIFETIME);
    await engine.stands(context.tenant.id, (now) => now.signing?.kid === next?.kid, 'the activation');
  });
});

describe('with a part away', () => {
  it('keys rotate by their rows alone, once, and the last one goes on until the workflow is there', async () => {
    const failing = engine.startRunner(() => Promise.reject(new Error('Temporal is away')));
    const context = await engine.newTenant();
    await engine.accounts.issuerRotation.perform({ tenantId: context.tenant.id }, 'publish');
    const [, next] = await keysOf(context);
    await engine.pass(3 * LIFETIME);
    await eventually(() => engine.failures.length > 1, 'some failures');
    const token = await engine.accounts.issuer.sign(context.tenant, {}, { typ: 'JWT' });
    expect(JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid).toBe(next?.kid);
    await failing();
    const stops = [engine.startRunner(), await engine.startWorker()];
    const standing = await engine.stands(context.tenant.id, (now) => now.next !== null, 'the next key');
    expect(standing.signing?.kid).toBe(next?.kid);
    await engine.toldAll();
    for (const stop of stops) await stop();
  });

  it('goes on after its worker was away, and is started again when it was terminated', async () => {
    const stopRunner = engine.startRunner();
    const stopWorker = await engine.startWorker();
    const context = await engine.newTenant();
    const { next } = await prepared(context);
    await stopWorker();
    await engine.accounts.issuerKeys.revoke(context, next?.kid ?? '', { reason: 'careful' });
    await engine.toldAll();
    const stop = await engine.startWorker();
    await engine.stands(context.tenant.id, (now) => now.next !== null && now.next.kid !== next?.kid);
    const run = await runOf(context);
    await handleOf(context).terminate('by hand');
    await engine.pass(600);
    await engine.accounts.issuerKeys.rotate(context);
    await eventually(async () => (await runOf(context)) !== run, 'another run');
    await engine.stands(context.tenant.id, (now) => now.next !== null && now.retired !== null);
    await engine.toldAll();
    await stop();
    await stopRunner();
  });
});
