// RETENTION_DAYS: whole days go as partitions, as far as nothing of them is kept.
import { beforeEach, expect, it } from 'vitest';
import { wireRetention } from '../../../src/app/wiring/retention.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { findLost, findUncounted } from '../../../src/webhooks/accounts/account.store.ts';
import { RecordService } from '../../../src/webhooks/intake/record.service.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { accept, dayOf, moveToDay, pulse } from '../../webhooks/accounts/fixture.ts';
import { createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';

const test = await useTestDatabase();
let context: RequestContext;
/** Of the rows: another day for each case, because the account of a day that went is counted no more. */
let age = 9;

const keptFor = (retentionDays: number) => {
  const platform = createTestPlatform(test.database, { notifier: { poke: () => undefined } });
  return wireRetention(
    { ...platform, config: { ...platform.config, retentionDays } },
    { records: new RecordService({ notifier: { poke: () => undefined } }) },
  );
};

beforeEach(async () => {
  context = await createTenantContext(test.database);
  await insertSubscription(test.database, context, { filters: ['*'], active: false });
  await accept(test.database, context, 2);
  age += 1;
  await moveToDay(test.database, context, age);
  await test.database.query(
    `WITH cleared AS (DELETE FROM outbox WHERE tenant_id = $1)
     UPDATE deliveries SET status = 'delivered', completed_at = now(), next_attempt_at = NULL WHERE tenant_id = $1`,
    [context.tenant.id],
  );
});

/** The tables of the day that are there. */
async function tablesOf(): Promise<string[]> {
  const day = (await dayOf(test.database, age)).replaceAll('-', '');
  const { rows } = await test.database.query<{ name: string }>(
    'SELECT relname AS name FROM pg_class WHERE relkind = $1 AND relname = ANY ($2) ORDER BY 1',
    ['r', ['attempts', 'deliveries', 'events'].map((table) => `${table}_${day}`)],
  );
  return rows.map(({ name }) => name.replace(/_\d+$/, ''));
}

const ALL = ['attempts', 'deliveries', 'events'];

it('a day that is older than RETENTION_DAYS goes as a whole, one that is not stays', async () => {
  expect([(await keptFor(age).dropPartitions(pulse)).count, await tablesOf()]).toEqual([0, ALL]);
  expect([(await keptFor(age - 1).dropPartitions(pulse)).count, await tablesOf()]).toEqual([3, []]);
});

it('the account of a day that went stays, is counted no more, and no delivery is missed', async () => {
  await keptFor(7).dropPartitions(pulse);
  const account = async () =>
    (
      await test.database.query(
        'SELECT accepted, delivered, waiting, difference FROM delivery_accounts WHERE tenant_id = $1',
        [context.tenant.id],
      )
    ).rows;
  const last = [{ accepted: 2, delivered: 2, waiting: 0, difference: 0 }];
  expect(await account()).toEqual(last);
  await test.database.query(
    "UPDATE delivery_account_days SET counted_at = counted_at - interval '2 days' WHERE took_ms >= 0",
  );
  await keptFor(30).countAccounts(pulse);
  expect(await account()).toEqual(last);
  expect(await findLost(test.database, 0)).toMatchObject({ count: 0 });
  expect(await findUncounted(test.database, 0)).toMatchObject({ count: 1 });
});

it.each([
  [
    'a delivery has not ended',
    "UPDATE deliveries SET status = 'retrying' WHERE tenant_id = $1 AND $2::date IS NOT NULL",
  ],
  [
    'a receipt of its event is open',
    `INSERT INTO receipts (id, tenant_id, agent_id, cause, receivers)
     SELECT event_row, tenant_id, event_row, 'admin.agent.suspended', 1 FROM deliveries WHERE tenant_id = $1 AND $2::date IS NOT NULL LIMIT 1`,
  ],
  [
    'some of its rows went a moment ago, so that its account cannot be counted',
    `INSERT INTO delivery_accounts (tenant_id, day, accepted, delivered, waiting, held, failed, canceled, stranded, gone_at)
     SELECT $1, $2::date, 0, 0, 0, 0, 0, 0, 0, now()`,
  ],
])('a day stays while %s, and is not counted for it', async (_, statement) => {
  await test.database.query('DELETE FROM delivery_account_days');
  await test.database.query(statement, [context.tenant.id, await dayOf(test.database, age)]);
  expect([(await keptFor(7).dropPartitions(pulse)).count, await tablesOf()]).toEqual([0, ALL]);
  const { rows } = await test.database.query('SELECT FROM delivery_account_days');
  expect(rows).toEqual([]);
});

it('every tenant notes until when its events are gone, so a higher RETENTION_DAYS hides no gap', async () => {
  await keptFor(7).dropPartitions(pulse);
  const { rows } = await test.database.query(
    "SELECT (events_gone_before AT TIME ZONE 'UTC')::date::text AS day FROM tenants WHERE id = $1",
    [context.tenant.id],
  );
  expect(rows).toEqual([{ day: await dayOf(test.database, 7) }]);
});

it('a complete receipt goes with the deliveries of its day', async () => {
  const insert = (daysAgo: number) =>
    test.database.query(
      `INSERT INTO receipts (id, tenant_id, agent_id, cause, receivers, created_at, completed_at)
       SELECT gen_random_uuid(), $1, $1, 'admin.agent.suspended', 0, (now() AT TIME ZONE 'UTC')::date - $2::int + interval '1 hour', now()`,
      [context.tenant.id, daysAgo],
    );
  for (const daysAgo of [8, 7]) await insert(daysAgo);
  expect(await keptFor(7).purge('receipts', pulse)).toEqual({ count: 1, more: false });
});
