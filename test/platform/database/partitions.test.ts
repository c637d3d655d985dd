// Day partitions: made ahead of time, dropped when they are old, and neither of it in the way of traffic.
import { describe, expect, it } from 'vitest';
import {
  dropPartition,
  ensurePartitions,
  listOldPartitions,
} from '../../../src/platform/database/partitions.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { accept, dayOf, moveToDay } from '../../webhooks/accounts/fixture.ts';
import { createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';

const test = await useTestDatabase();

const nameOf = (parent: string, day: string) => `${parent}_${day.replaceAll('-', '')}`;
const exists = async (name: string): Promise<boolean> =>
  (await test.database.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [name]))
    .rows[0]?.there === true;

/** A tenant with an old day of ended deliveries. */
async function makeOldDay(daysAgo: number, status = 'delivered') {
  const context = await createTenantContext(test.database);
  await insertSubscription(test.database, context, { filters: ['*'] });
  await accept(test.database, context, 3);
  await moveToDay(test.database, context, daysAgo);
  await test.database.query('UPDATE deliveries SET status = $2 WHERE tenant_id = $1', [
    context.tenant.id,
    status,
  ]);
  return { context, day: await dayOf(test.database, daysAgo) };
}

describe('the next days', () => {
  it('are made again and again, without a restart', async () => {
    await ensurePartitions(test.database);
    const [tomorrow, last] = [await dayOf(test.database, -1), await dayOf(test.database, -7)];
    for (const day of [tomorrow, last])
      for (const parent of ['events', 'deliveries', 'attempts'])
        await test.database.query(`DROP TABLE ${nameOf(parent, day)}`);
    expect(await ensurePartitions(test.database)).toBe(6);
    for (const day of [tomorrow, last]) expect(await exists(nameOf('deliveries', day))).toBe(true);
    expect(await ensurePartitions(test.database)).toBe(0);
  });
});

describe('an old day', () => {
  it('is told from those that are kept', async () => {
    const { day } = await makeOldDay(31);
    await makeOldDay(30);
    expect(await listOldPartitions(test.database, 30)).toEqual(
      ['deliveries', 'attempts', 'events'].map((parent) => ({ parent, day, attached: true })),
    );
  });

  it('goes, also when it was only taken out before', async () => {
    const { day } = await makeOldDay(40);
    expect(await dropPartition(test.database, { parent: 'deliveries', day })).toBe('dropped');
    expect(await exists(nameOf('deliveries', day))).toBe(false);
    expect(await dropPartition(test.database, { parent: 'deliveries', day })).toBe('gone');
    await test.database.query('SELECT detach_day_partition($1, $2::date)', ['events', day]);
    expect(await listOldPartitions(test.database, 39)).toContainEqual({
      parent: 'events',
      day,
      attached: false,
    });
    expect(await dropPartition(test.database, { parent: 'events', day })).toBe('dropped');
    expect(await exists(nameOf('events', day))).toBe(false);
  });

  it.each(['pending', 'retrying'])('stays while it holds a %s delivery', async (status) => {
    const { context, day } = await makeOldDay(41, status);
    expect(await dropPartition(test.database, { parent: 'deliveries', day })).toBe('unfinished');
    await test.database.query(`UPDATE deliveries SET status = 'canceled' WHERE tenant_id = $1`, [
      context.tenant.id,
    ]);
    expect(await dropPartition(test.database, { parent: 'deliveries', day })).toBe('dropped');
  });

  it('waits for a transaction that reads the table, and keeps nobody waiting meanwhile', async () => {
    const { day } = await makeOldDay(42);
    const traffic = createPatientDatabase({ url: test.url, pool: 4, applicationName: 'traffic' });
    const context = await createTenantContext(test.database);
    await insertSubscription(test.database, context, { filters: ['*'] });
    const reader = await traffic.pool.connect();
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM deliveries');
    let running = true;
    let writes = 0;
    const writing = (async () => {
      for (; running; writes += 1) {
        await accept(traffic, context, 1);
        await traffic.query('SELECT count(*) FROM attempts');
      }
    })();
    // A drop that waited for the reader behind its lock would hold up every writer, and never end.
    const drop = () => dropPartition(test.database, { parent: 'deliveries', day });
    for (const before = writes; writes < before + 5; ) expect(await drop()).toBe('busy');
    expect(await exists(nameOf('deliveries', day))).toBe(true);
    await reader.query('COMMIT');
    reader.release();
    for (const parent of ['deliveries', 'attempts', 'events'] as const)
      await expect.poll(() => dropPartition(test.database, { parent, day })).toMatch(/dropped|gone/);
    running = false;
    await writing;
    await traffic.close();
    expect(await exists(nameOf('events', day))).toBe(false);
  });
});
