// What retention removes and what it leaves, by rows that were written in the past.

import { beforeEach, describe, expect, it, vi } from 'vitest';
import { wireRetention } from '../../../src/app/wiring/retention.ts';
import { RetentionService } from '../../../src/operations/retention/retention.service.ts';
import { describeReport } from '../../../src/operations/retention/retention.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { listOldPartitions } from '../../../src/platform/database/partitions.ts';
import { RecordService } from '../../../src/webhooks/intake/record.service.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTestPlatform } from '../../setup/platform.ts';
import { accept, dayOf, moveToDay, pulse } from '../../webhooks/accounts/fixture.ts';
import { createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';
import { OLD_ROWS } from './old-rows.ts';

let context: RequestContext;
const poke = vi.fn();

const test = await useTestDatabase();
const platform = createTestPlatform(test.database, { notifier: { poke } });
const retention = wireRetention(platform, {
  records: new RecordService({ notifier: { poke: () => undefined } }),
});
beforeEach(async () => {
  context = await createTenantContext(test.database);
});

const countOf = async (table: string): Promise<number> =>
  (await test.database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`)).rows[0]?.n ?? -1;

describe('a purge', () => {
  it.each(Object.keys(OLD_ROWS))('of %s removes what is too old and nothing else', async (name) => {
    const one = OLD_ROWS[name];
    if (one === undefined) throw new Error(name);
    const { database } = test;
    if (!one.table.startsWith('audit_log')) await database.query(`DELETE FROM ${one.table}`);
    for (const hours of one.hours) await one.insert(hours, { database, context });
    expect(await retention.purge(name, pulse)).toEqual({ count: 1, more: false });
    expect(await countOf(one.table)).toBe(1);
    expect(await retention.purge(name, pulse)).toEqual({ count: 0, more: false });
    // A delivery without an event is missing from the account of its day.
    if (name.endsWith('of tenants')) await database.query(`DELETE FROM ${one.table}`);
    await database.query('DELETE FROM delivery_accounts');
  });

  it('is known for each kind', () => {
    expect(retention.purgeNames().sort()).toEqual(Object.keys(OLD_ROWS).sort());
  });

  it('goes on after its time in another call, and stops when it is told to', async () => {
    let left = 25;
    const remove = async (_: unknown, limit: number) => {
      const removed = Math.min(left, limit);
      left -= removed;
      return removed;
    };
    const service = (budget: number) =>
      new RetentionService({
        database: test.database,
        expiry: { expire: async () => 0 },
        accounts: { countDue: async () => 0, countDay: async () => [], closeDay: async () => undefined },
        days: 30,
        keepsDay: async () => false,
        noteEventsGone: async () => undefined,
        purges: { things: remove },
        settings: { chunk: 10, budget },
      });
    expect(await service(-1).purge('things', pulse)).toEqual({ count: 10, more: true });
    const ended = AbortSignal.abort(new Error('told to stop'));
    await expect(service(1_000).purge('things', { ...pulse, signal: ended })).rejects.toThrow('told to stop');
    expect(await service(1_000).purge('things', pulse)).toEqual({ count: 15, more: false });
  });
});

describe('deliveries', () => {
  const statuses = async () =>
    (
      await test.database.query<{ status: string; last_error: string | null }>(
        'SELECT status, last_error FROM deliveries WHERE tenant_id = $1',
        [context.tenant.id],
      )
    ).rows;

  it('that wait for more than 30 days end, are audited by their number, and free the outbox', async () => {
    await insertSubscription(test.database, context, { filters: ['*'], active: false });
    const [, , tried] = await accept(test.database, context, 3);
    await test.database.query(
      `UPDATE deliveries SET status = 'retrying', started_generation = 0, waiting_epoch = 0 WHERE id = $1`,
      [tried],
    );
    await moveToDay(test.database, context, 31);
    poke.mockClear();
    expect(await retention.expireDeliveries(pulse)).toEqual({ count: 3, more: false });
    expect(await statuses()).toEqual(Array(3).fill({ status: 'canceled', last_error: 'expired' }));
    const { rows: work } = await test.database.query<{ kind: string; command: string }>(
      'SELECT kind, command FROM outbox WHERE tenant_id = $1',
      [context.tenant.id],
    );
    expect(work).toEqual([{ kind: 'command', command: 'cancel' }]);
    expect(poke).toHaveBeenCalled();
    const { rows: audit } = await test.database.query(
      'SELECT action, actor_kind, data FROM audit_log WHERE tenant_id = $1',
      [context.tenant.id],
    );
    expect(audit).toEqual([
      { action: 'webhook.deliveries_expired', actor_kind: 'service', data: { count: 3, after_days: 30 } },
    ]);
    expect(await retention.expireDeliveries(pulse)).toEqual({ count: 0, more: false });
  });

  it('that wait for less go on waiting', async () => {
    await insertSubscription(test.database, context, { filters: ['*'], active: false });
    await accept(test.database, context, 2);
    await moveToDay(test.database, context, 29);
    await retention.expireDeliveries(pulse);
    expect(await statuses()).toEqual(Array(2).fill({ status: 'pending', last_error: null }));
  });

  it('of an old day go with their events and attempts, and leave their account', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    await accept(test.database, context, 4);
    await moveToDay(test.database, context, 33);
    await moveToDay(test.database, await createTenantContext(test.database), 32);
    await retention.expireDeliveries(pulse);
    expect((await retention.dropPartitions(pulse)).count).toBeGreaterThanOrEqual(6);
    expect(await listOldPartitions(test.database, 30)).toEqual([]);
    expect(await statuses()).toEqual([]);
    const account = async () =>
      (
        await test.database.query(
          'SELECT day::text AS day, accepted, canceled, difference FROM delivery_accounts WHERE tenant_id = $1',
          [context.tenant.id],
        )
      ).rows;
    const last = [{ day: await dayOf(test.database, 33), accepted: 4, canceled: 4, difference: 0 }];
    expect(await account()).toEqual(last);
    await retention.countAccounts(pulse);
    await retention.dropPartitions(pulse);
    expect(await account()).toEqual(last);
  });

  it('of an old day stay while one has not ended', async () => {
    await insertSubscription(test.database, context, { filters: ['*'] });
    await accept(test.database, context, 1);
    await moveToDay(test.database, context, 34);
    expect((await retention.dropPartitions(pulse)).count).toBe(0);
    expect(await statuses()).toHaveLength(1);
    await retention.expireDeliveries(pulse);
    expect((await retention.dropPartitions(pulse)).count).toBe(3);
  });
});

describe('the report', () => {
  it('has a line for each step that did something', () => {
    expect(describeReport({ challenges: 12, revocations: 0 }, [])).toBe('- challenges: 12');
    expect(describeReport({}, [])).toBe('Nothing was due.');
    expect(describeReport({ challenges: 1 }, ['accounts'])).toMatch(/challenges: 1\n\nFailed.*accounts\./s);
  });
});
