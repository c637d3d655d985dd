// What goes of a tenant that keeps its rows for a shorter time than others, and what stays.
import { NIL } from 'uuid';
import { beforeEach, describe, expect, it } from 'vitest';
import { wireRetention } from '../../../src/app/wiring/retention.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { AccountService } from '../../../src/webhooks/accounts/account.service.ts';
import { RecordService } from '../../../src/webhooks/intake/record.service.ts';
import { pageOfOld, removeEnded } from '../../../src/webhooks/rows/removal.store.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { accept, dayOf, moveToDay, pulse } from '../../webhooks/accounts/fixture.ts';
import { countRows, createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';

const test = await useTestDatabase();

let tenant: RequestContext;
let neighbour: RequestContext;

const wired = (config = {}, settings?: { chunk: number; budget: number }) => {
  const platform = createTestPlatform(test.database, { notifier: { poke: () => undefined } });
  return wireRetention(
    { ...platform, config: { ...platform.config, ...config } },
    { records: new RecordService({ notifier: { poke: () => undefined } }), settings },
  );
};

const retention = wired();

beforeEach(async () => {
  [tenant, neighbour] = [await createTenantContext(test.database), await createTenantContext(test.database)];
});

/** Three deliveries of some days ago, of which two have ended after an attempt. */
async function fill(context: RequestContext, daysAgo: number): Promise<void> {
  const { database } = test;
  await insertSubscription(database, context, { filters: ['*'], active: false });
  const [first, second] = await accept(database, context, 3);
  await database.query(
    `WITH ended AS (
       UPDATE deliveries SET status = CASE WHEN id = $1 THEN 'delivered' ELSE 'failed' END, completed_at = now(), next_attempt_at = NULL
       WHERE id IN ($1, $2) RETURNING *
     ), cleared AS (DELETE FROM outbox WHERE delivery_id IN ($1, $2))
     INSERT INTO attempts (delivery_id, n, tenant_id, subscription_id, generation, started_at, duration_ms, outcome)
     SELECT id, 1, tenant_id, subscription_id, 0, now(), 1, 'delivered' FROM ended`,
    [first, second],
  );
  await moveToDay(database, context, daysAgo);
}

const keep = (context: RequestContext, set: string) =>
  test.database.query(`UPDATE tenants SET ${set} WHERE id = $1`, [context.tenant.id]);

const statusesOf = async ({ tenant: { id } }: RequestContext) =>
  (
    await test.database.query<{ status: string }>(
      'SELECT status FROM deliveries WHERE tenant_id = $1 ORDER BY status',
      [id],
    )
  ).rows.map(({ status }) => status);

const count = async (table: string, { tenant: { id } }: RequestContext) =>
  (
    await test.database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE tenant_id = $1`, [
      id,
    ])
  ).rows[0]?.n;

const ALL = ['delivered', 'failed', 'pending'];

describe('ended deliveries', () => {
  it("go with their attempts when the tenant's days are over; those under way and a neighbour's stay", async () => {
    for (const context of [tenant, neighbour]) await fill(context, 5);
    await keep(tenant, 'deliveries_days = 4');
    await keep(neighbour, 'deliveries_days = 5');
    expect(await retention.purge('deliveries of tenants', pulse)).toEqual({ count: 2, more: false });
    expect([await statusesOf(tenant), await statusesOf(neighbour)]).toEqual([['pending'], ALL]);
    expect([await count('attempts', tenant), await count('attempts', neighbour)]).toEqual([0, 2]);
    expect([await count('events', tenant), await count('outbox', tenant)]).toEqual([3, 1]);
    expect(await retention.purge('deliveries of tenants', pulse)).toEqual({ count: 0, more: false });
  });

  it("go at the operator's time where the tenant's own is longer, or where it has none", async () => {
    for (const context of [tenant, neighbour]) await fill(context, 5);
    await keep(tenant, 'deliveries_days = 20, events_days = 20');
    const narrow = wired({ retentionDays: 4 });
    for (const name of ['deliveries of tenants', 'events of tenants']) await narrow.purge(name, pulse);
    expect([await statusesOf(tenant), await statusesOf(neighbour)]).toEqual([['pending'], ['pending']]);
    expect([await count('events', tenant), await count('events', neighbour)]).toEqual([1, 1]);
  });

  it.each([
    ['deliveries of tenants', 'deliveries_days = 4'],
    ['events of tenants', 'events_days = 4'],
    ['addresses in the audit log', 'audit_addresses_days = 4'],
  ])(
    '%s: a call that has no more time goes on behind the tenant where the former stopped',
    async (name, set) => {
      await test.database.query(`UPDATE tenants SET ${set.replace('4', 'NULL')}`);
      for (const context of [tenant, neighbour]) await keep(context, set);
      const [first, second] = [tenant.tenant.id, neighbour.tenant.id].toSorted();
      const hasty = wired({}, { chunk: 1_000, budget: -1 });
      const call = (place?: string) => hasty.purge(name, pulse, place);
      expect(await call()).toEqual({ count: 0, more: true, place: first });
      expect(await call(first)).toEqual({ count: 0, more: true, place: second });
      expect(await call(second)).toEqual({ count: 0, more: false });
    },
  );

  it('stay that begin anew between the look at them and their removal', async () => {
    await fill(tenant, 5);
    const ids = (await pageOfOld(test.database, tenant.tenant.id, 2, NIL, 10)).map(({ id }) => id);
    await test.database.query(
      "UPDATE deliveries SET status = 'retrying' WHERE tenant_id = $1 AND status = 'failed'",
      [tenant.tenant.id],
    );
    expect(await removeEnded(test.database, ids)).toMatchObject([{ status: 'delivered' }]);
    expect(await statusesOf(tenant)).toEqual(['pending', 'retrying']);
  });

  it('stay while a receipt of their event is open, and take a complete one along', async () => {
    await fill(tenant, 5);
    await keep(tenant, 'deliveries_days = 2');
    await test.database.query(
      `INSERT INTO receipts (id, tenant_id, agent_id, cause, receivers, completed_at)
       SELECT event_row, tenant_id, event_row, 'admin.agent.suspended', 1, CASE WHEN status = 'failed' THEN now() END
       FROM deliveries WHERE tenant_id = $1 AND status <> 'pending'`,
      [tenant.tenant.id],
    );
    expect((await retention.purge('deliveries of tenants', pulse)).count).toBe(1);
    expect(await statusesOf(tenant)).toEqual(['delivered', 'pending']);
    expect(await count('receipts', tenant)).toBe(1);
  });

  it('stay in the account of their day, which is counted anew while the rest of them ends', async () => {
    await fill(tenant, 5);
    await keep(tenant, 'deliveries_days = 2, events_days = 2');
    const accounts = new AccountService({ database: test.database, onDifference: () => undefined });
    const day = await dayOf(test.database, 5);
    const counted = async () => {
      // What was removed was removed before the count began.
      await test.database.query("UPDATE delivery_accounts SET gone_at = gone_at - interval '1 hour'");
      const wrong = await accounts.countDay(day, pulse);
      expect(wrong.filter(({ tenantId }) => tenantId === tenant.tenant.id)).toEqual([]);
      const { rows } = await test.database.query(
        'SELECT accepted, delivered, held, failed, canceled, difference FROM delivery_accounts WHERE tenant_id = $1',
        [tenant.tenant.id],
      );
      return rows;
    };
    const first = { accepted: 3, delivered: 1, held: 1, failed: 1, canceled: 0, difference: 0 };
    expect(await counted()).toEqual([first]);
    for (const name of ['deliveries of tenants', 'events of tenants']) await retention.purge(name, pulse);
    expect(await countRows(test.database, tenant.tenant.id)).toMatchObject({ events: 1, deliveries: 1 });
    expect(await counted()).toEqual([first]);
    await test.database.query(
      "WITH done AS (DELETE FROM outbox WHERE tenant_id = $1) UPDATE deliveries SET status = 'canceled' WHERE tenant_id = $1",
      [tenant.tenant.id],
    );
    for (const name of ['deliveries of tenants', 'events of tenants']) await retention.purge(name, pulse);
    expect(await countRows(test.database, tenant.tenant.id)).toMatchObject({ events: 0, deliveries: 0 });
    expect(await counted()).toEqual([{ ...first, held: 0, canceled: 1 }]);
  });

  it('are in the account of a day that is counted first when they have gone', async () => {
    await fill(tenant, 5);
    await keep(tenant, 'deliveries_days = 2, events_days = 2');
    for (const name of ['deliveries of tenants', 'events of tenants']) await retention.purge(name, pulse);
    await test.database.query("UPDATE delivery_accounts SET gone_at = gone_at - interval '1 hour'");
    const accounts = new AccountService({ database: test.database, onDifference: () => undefined });
    await accounts.countDay(await dayOf(test.database, 5), pulse);
    const { rows } = await test.database.query(
      'SELECT accepted, delivered, held, failed, difference FROM delivery_accounts WHERE tenant_id = $1',
      [tenant.tenant.id],
    );
    expect(rows).toEqual([{ accepted: 3, delivered: 1, held: 1, failed: 1, difference: 0 }]);
  });

  it('leave an account as it is that is counted while they go', async () => {
    await fill(tenant, 5);
    await keep(tenant, 'deliveries_days = 2');
    const accounts = new AccountService({ database: test.database, onDifference: () => undefined });
    const day = await dayOf(test.database, 5);
    await accounts.countDay(day, pulse);
    await retention.purge('deliveries of tenants', pulse);
    await test.database.query("UPDATE deliveries SET status = 'failed' WHERE tenant_id = $1", [
      tenant.tenant.id,
    ]);
    await accounts.countDay(day, pulse);
    const { rows } = await test.database.query(
      'SELECT delivered, held, failed FROM delivery_accounts WHERE tenant_id = $1',
      [tenant.tenant.id],
    );
    expect(rows).toEqual([{ delivered: 1, held: 1, failed: 1 }]);
  });
});

describe('events', () => {
  it('go without their deliveries, and leave their ids to those who publish them again', async () => {
    for (const context of [tenant, neighbour]) await fill(context, 5);
    await keep(tenant, 'deliveries_days = 4, events_days = 4');
    await test.database.query(
      `INSERT INTO published_events (tenant_id, event_id, id, digest, deliveries) SELECT tenant_id, event_id, id, '', 1 FROM events WHERE tenant_id = $1`,
      [tenant.tenant.id],
    );
    await retention.purge('deliveries of tenants', pulse);
    expect(await retention.purge('events of tenants', pulse)).toEqual({ count: 2, more: false });
    expect([await count('events', tenant), await count('events', neighbour)]).toEqual([1, 3]);
    expect(await count('published_events', tenant)).toBe(3);
  });

  it('stay as long as an ended delivery of theirs stays', async () => {
    await fill(tenant, 5);
    await keep(tenant, 'events_days = 4');
    expect((await retention.purge('events of tenants', pulse)).count).toBe(0);
    expect(await count('events', tenant)).toBe(3);
  });

  it('note until when they are gone, and a longer setting brings none back', async () => {
    const goneBefore = async () =>
      (
        await test.database.query<{ at: string }>(
          "SELECT (events_gone_before AT TIME ZONE 'UTC')::date::text AS at FROM tenants WHERE id = $1",
          [tenant.tenant.id],
        )
      ).rows[0]?.at;
    await keep(tenant, 'deliveries_days = 3, events_days = 3');
    await retention.purge('events of tenants', pulse);
    expect(await goneBefore()).toBe(await dayOf(test.database, 3));
    await keep(tenant, 'events_days = 9');
    await retention.purge('events of tenants', pulse);
    expect(await goneBefore()).toBe(await dayOf(test.database, 3));
  });
});
