// When looks are put off, with the real database: while an operator holds a host or suspends a tenant, and for a
// domain's pace.
import { afterAll, describe, expect, it } from 'vitest';
import type { AnchorType } from '../../../src/identity/anchors/anchor.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTestTenant, readAudit } from '../agents/agent-rooms.ts';
import { createAnchorRooms } from './anchor-rooms.ts';

const HOUR = 3_600_000;

const { database } = await useTestDatabase();
const rooms = await createAnchorRooms(database);
afterAll(() => rooms.places.close());

let number = 0;
const newDomain = () => `t${++number}.anchors.test`;

/** A pending anchor of an agent of its own, whose first look is due. */
async function begin(
  context: RequestContext,
  { value = newDomain(), type = 'domain_dns' as AnchorType } = {},
) {
  const { id: agentId } = await rooms.agents.create(context, { name: 'Robot' });
  const { id, proof } = await rooms.anchors.create(context, agentId, { type, value });
  const change = (assignments: string) =>
    database.query(`UPDATE anchors SET ${assignments} WHERE id = $1`, [id]);
  const due = () => change('next_check_at = now()');
  await due();
  const name = { tenantId: context.tenant.id, id };
  return {
    type,
    value,
    proof,
    due,
    change,
    check: () => rooms.checks.check(name),
    readRow: async () =>
      (
        await database.query<Record<'status' | 'checks' | 'misses' | 'leftMs' | 'missingMs', unknown>>(
          `SELECT status, checks, misses, extract(epoch FROM expires_at - now())::float8 * 1000 AS "leftMs",
             extract(epoch FROM now() - missing_since)::float8 * 1000 AS "missingMs" FROM anchors WHERE id = $1`,
          [id],
        )
      ).rows[0],
  };
}

async function holdHost(host: string, until = 'infinity') {
  await database.query(
    `INSERT INTO host_holds (host, until, reason, operator) VALUES ($1, $2, 'asked to stop', 'ops')`,
    [host, until],
  );
  return () => database.query('UPDATE host_holds SET until = now() WHERE host = $1', [host]);
}

async function suspend({ tenant }: RequestContext) {
  await database.query('UPDATE tenants SET suspended_at = now() WHERE id = $1', [tenant.id]);
  return () => database.query('UPDATE tenants SET suspended_at = NULL WHERE id = $1', [tenant.id]);
}

type Begun = Awaited<ReturnType<typeof begin>>;
const HOLDS: readonly (readonly [
  string,
  AnchorType,
  (context: RequestContext, one: Begun) => Promise<() => unknown>,
])[] = [
  ['whose host is held', 'domain_https', (_, { value }) => holdHost(value)],
  ['whose domain is held', 'domain_dns', (_, { value }) => holdHost(value)],
  ['whose name in the DNS is held', 'domain_dns', (_, { value }) => holdHost(`_countersign.${value}`)],
  ['whose tenant is suspended', 'domain_dns', (context) => suspend(context)],
];

describe.each(HOLDS)('an anchor %s', (_, type, hold) => {
  it('is not looked for until that is over, within the hour after', async () => {
    const context = await createTestTenant(rooms);
    const one = await begin(context, { type });
    const audited = (await readAudit(database, context.tenant.id)).length;
    const end = await hold(context, one);
    const { step } = await one.check();
    expect(step).toMatchObject({ kind: 'wait' });
    expect(step.kind === 'wait' && step.delayMs).toBeGreaterThan(HOUR / 2);
    expect(step.kind === 'wait' && step.delayMs).toBeLessThanOrEqual(HOUR);
    expect(rooms.places.looks(one.value)).toBe(0);
    expect(await one.readRow()).toMatchObject({ status: 'pending', checks: 0, misses: 0 });
    expect(await readAudit(database, context.tenant.id)).toHaveLength(audited);
    await end();
    await one.due();
    rooms.places.publish(one);
    expect(await one.check()).toMatchObject({ status: 'verified', lastOutcome: 'found' });
  });

  it('that is pending does not end meanwhile, and has as long as before afterwards', async () => {
    const context = await createTestTenant(rooms);
    const one = await begin(context, { type });
    await one.change("expires_at = now() + interval '60 seconds'");
    const end = await hold(context, one);
    for (let hours = 0; hours < 3; hours += 1) {
      const { step } = await one.check();
      const { leftMs } = (await one.readRow()) ?? {};
      expect(step.kind === 'wait' && step.delayMs).toBeLessThan(Number(leftMs));
      // An hour passes.
      await one.change(
        "expires_at = expires_at - interval '1 hour', next_check_at = now(), put_off_at = put_off_at - interval '1 hour'",
      );
    }
    await end();
    expect(await one.check()).toMatchObject({ status: 'pending', lastOutcome: expect.any(String) });
    expect((await one.readRow())?.leftMs).toBeGreaterThan(55_000);
  });

  it('is not revoked for the days in which nobody looked', async () => {
    const context = await createTestTenant(rooms);
    const one = await begin(context, { type });
    await one.change(
      "status = 'verified', verified_at = now(), misses = 2, missing_since = now() - interval '2 days', created_at = now() - interval '9 days'",
    );
    const end = await hold(context, one);
    await one.check();
    // Five days pass.
    await one.change(
      "missing_since = missing_since - interval '5 days', put_off_at = put_off_at - interval '5 days', next_check_at = now()",
    );
    await end();
    expect(await one.check()).toMatchObject({ status: 'verified' });
    const row = await one.readRow();
    expect(row).toMatchObject({ status: 'verified', misses: 3 });
    expect(Number(row?.missingMs) / (24 * HOUR)).toBeCloseTo(2, 1);
    // Another day, in which looks are made, does count.
    await one.change("missing_since = missing_since - interval '1 day', next_check_at = now()");
    expect(await one.check()).toMatchObject({ status: 'revoked' });
  });
});

it('a hold that is over, or of another port, puts nothing off', async () => {
  const context = await createTestTenant(rooms);
  const one = await begin(context);
  await holdHost(one.value, 'yesterday');
  await holdHost(`${one.value}:8443`);
  await one.check();
  expect(rooms.places.looks(one.value)).toBe(1);
});

it('a hold that ends soon is waited for no longer than it lasts, and a minute', async () => {
  const context = await createTestTenant(rooms);
  const one = await begin(context);
  await holdHost(one.value, new Date(Date.now() + 120_000).toISOString());
  const { step } = await one.check();
  expect(step.kind === 'wait' && step.delayMs).toBeLessThanOrEqual(182_000);
  expect(rooms.places.looks(one.value)).toBe(0);
});

describe('the pace of a domain', () => {
  it('lets a tenant look once in five seconds, however many of its anchors are due', async () => {
    const context = await createTestTenant(rooms);
    const value = newDomain();
    const all = [];
    for (let n = 0; n < 8; n += 1)
      all.push(await begin(context, { value, type: n % 2 === 0 ? 'domain_dns' : 'domain_https' }));
    const standings = await Promise.all(all.map(({ check }) => check()));
    expect(rooms.places.looks(value)).toBe(1);
    const put = standings.filter(({ lastOutcome }) => lastOutcome === null);
    expect(put).toHaveLength(7);
    for (const { step } of put) expect(step.kind === 'wait' && step.delayMs).toBeGreaterThan(3_000);
    // Five seconds pass: one more.
    await database.query(
      "UPDATE anchors SET looked_at = looked_at - interval '5 seconds', next_check_at = now() WHERE value = $1",
      [value],
    );
    await Promise.all(all.map(({ check }) => check()));
    expect(rooms.places.looks(value)).toBe(2);
  });

  it('counts a look for an anchor that has ended since', async () => {
    const context = await createTestTenant(rooms);
    const first = await begin(context);
    await first.check();
    await first.change("status = 'failed'");
    const second = await begin(context, { value: first.value });
    expect(await second.check()).toMatchObject({ step: { kind: 'wait' }, lastOutcome: null });
    expect(rooms.places.looks(first.value)).toBe(1);
  });

  it('is each tenant’s own, and each domain’s', async () => {
    const [one, two] = [await createTestTenant(rooms), await createTestTenant(rooms)];
    const first = await begin(one);
    const others = [await begin(two, { value: first.value }), await begin(one)];
    for (const anchor of [first, ...others]) await anchor.check();
    expect(rooms.places.looks(first.value)).toBe(2);
    expect(rooms.places.looks(others[1]?.value ?? '')).toBe(1);
  });
});
