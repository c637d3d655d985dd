// Daily accounts: that they add up while all is well, and that nothing can be lost unseen.

import { beforeEach, describe, expect, it } from 'vitest';
import { prepareEvent } from '../../../src/events/event.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { AccountService } from '../../../src/webhooks/accounts/account.service.ts';
import * as store from '../../../src/webhooks/accounts/account.store.ts';
import type { WrongAccount } from '../../../src/webhooks/accounts/account.ts';
import { AccountReadingService } from '../../../src/webhooks/accounts/account-reading.service.ts';
import * as eventStore from '../../../src/webhooks/intake/event.store.ts';
import { createTestDatabase, useTestDatabase } from '../../setup/database.ts';
import { createTenantContext, insertSubscription } from '../intake/fixture.ts';
import { accept, dayOf, moveToDay, pulse } from './fixture.ts';

let context: RequestContext;

const told: WrongAccount[] = [];
/** Tenants of the tests before. */
const left = new Set<string>();

const test = await useTestDatabase();
beforeEach(async () => {
  for (const { tenantId } of told) left.add(tenantId);
  context = await createTenantContext(test.database);
  await insertSubscription(test.database, context, { filters: ['*'] });
});

/** Today's account of the tenant after a count. */
async function count(daysAgo = 0) {
  told.length = 0;
  const { database } = test;
  const onDifference = (account: WrongAccount) => {
    if (!left.has(account.tenantId)) told.push(account);
  };
  const service = new AccountService({ database, store, onDifference });
  await service.countDay(await dayOf(database, daysAgo), pulse);
  const [account] = await new AccountReadingService({ database }).list(context, {
    since: await dayOf(database, daysAgo),
    until: undefined,
  });
  return account;
}

const set = (id: string | undefined, columns: string) =>
  test.database.query(`UPDATE deliveries SET ${columns} WHERE id = $1`, [id]);
const dropWork = (id: string | undefined) =>
  test.database.query('DELETE FROM outbox WHERE delivery_id = $1', [id]);

describe('an account', () => {
  it('says what became of each delivery', async () => {
    const [one, two, three, four] = await accept(test.database, context, 6);
    await set(one, `status = 'delivered', completed_at = now()`);
    await set(two, `status = 'failed', completed_at = now()`);
    await set(three, `status = 'canceled', completed_at = now()`);
    await set(four, `status = 'retrying', attempt_count = 1, started_generation = 0`);
    for (const id of [one, two, three, four]) await dropWork(id);
    const asleep = await insertSubscription(test.database, context, { filters: ['*'], active: false });
    await accept(test.database, context, 1);
    expect(await count()).toMatchObject({
      accepted: 8,
      delivered: 1,
      failed: 1,
      canceled: 1,
      waiting: 4,
      held: 1,
      stranded: 0,
      difference: 0,
    });
    await test.database.query('UPDATE endpoints SET deleted = true WHERE subscription_id = $1', [asleep]);
    expect(await count()).toMatchObject({ canceled: 2, held: 0, difference: 0 });
    expect(told).toEqual([]);
  });

  it('is the same when an event is accepted again, its answer lost, and a subscription was made in between', async () => {
    const { database } = test;
    const record = prepareEvent(
      { type: 'org.created', data: {} },
      { id: newId(), tenantId: context.tenant.id, now: new Date() },
    );

    await database.transaction({}, (unit) => eventStore.emit(unit, [record]));
    await insertSubscription(database, context, { filters: ['*'] });
    await database.transaction({}, (unit) => eventStore.emit(unit, [record]));
    expect(await count()).toMatchObject({ accepted: 1, waiting: 1, difference: 0 });
  });

  it('holds of a day of the past', async () => {
    await accept(test.database, context, 3);
    await moveToDay(test.database, context, 9);
    expect(await count(9)).toMatchObject({ accepted: 3, waiting: 3, difference: 0 });
    expect((await count())?.accepted ?? 0).toBe(0);
  });

  it('adds up at every moment while deliveries are accepted and end', async () => {
    let running = true;
    const traffic = (async () => {
      while (running) {
        const ids = await accept(test.database, context, 5);
        await test.database.query(
          `WITH gone AS (DELETE FROM outbox WHERE delivery_id = ANY ($1::uuid[]))
           UPDATE deliveries SET status = 'delivered', completed_at = now() WHERE id = ANY ($1::uuid[])`,
          [ids.slice(1)],
        );
      }
    })();
    const counts = [];
    for (let n = 0; n < 10; n += 1) counts.push(await count());
    running = false;
    await traffic;
    expect(counts.map((account) => account?.difference ?? 0)).toEqual(Array(10).fill(0));
    expect(counts.at(-1)?.accepted).toBeGreaterThan(0);
  });
});

describe('a loss', () => {
  const LOSSES: Record<string, { lose: (id: string) => Promise<unknown>; expected: object }> = {
    'of a delivery': {
      lose: async (id) => {
        await dropWork(id);
        await test.database.query('DELETE FROM deliveries WHERE id = $1', [id]);
      },
      expected: { difference: 1, stranded: 0, waiting: 2 },
    },
    'of what would make the first attempt': {
      lose: dropWork,
      expected: { difference: 1, stranded: 1, waiting: 2 },
    },
    'of what would wake a waiting delivery': {
      lose: async (id) => {
        await dropWork(id);
        await set(
          id,
          `status = 'retrying', started_generation = 0, attempt_count = 1, next_attempt_at = NULL, waiting_epoch = 0`,
        );
      },
      expected: { difference: 1, stranded: 1, waiting: 2 },
    },
    'of what would start a replay': {
      lose: async (id) => {
        await dropWork(id);
        await set(id, `status = 'retrying', started_generation = 0, generation = 1, attempt_count = 1`);
      },
      expected: { difference: 1, stranded: 1, waiting: 2 },
    },
    'of the endpoint': {
      lose: (id) =>
        test.database.query(
          'DELETE FROM outbox WHERE endpoint = (SELECT subscription_id FROM deliveries WHERE id = $1)',
          [id],
        ),
      expected: { difference: 3, stranded: 3, waiting: 0 },
    },
  };

  it.each(Object.keys(LOSSES))('%s shows', async (name) => {
    const [id = ''] = await accept(test.database, context, 3);
    expect(await count()).toMatchObject({ accepted: 3, waiting: 3, difference: 0 });
    expect(told).toEqual([]);
    await LOSSES[name]?.lose(id);
    expect(await count()).toMatchObject({ accepted: 3, ...LOSSES[name]?.expected });
    expect(told).toEqual([
      expect.objectContaining({ tenantId: context.tenant.id, day: await dayOf(test.database, 0) }),
    ]);
  });

  it('of an event with all its deliveries shows too, once it was counted', async () => {
    await accept(test.database, context, 2);
    await count();
    for (const table of ['outbox', 'deliveries', 'events'])
      await test.database.query(`DELETE FROM ${table} WHERE tenant_id = $1`, [context.tenant.id]);
    expect(await count()).toMatchObject({ accepted: 2, waiting: 0, difference: 2 });
    expect(told).toHaveLength(1);
  });

  it('that would hide another tenant’s surplus shows in both', async () => {
    const [id] = await accept(test.database, context, 1);
    const other = await createTenantContext(test.database);
    await set(id, `tenant_id = '${other.tenant.id}'`);
    await count();
    expect(told.map(({ tenantId, difference }) => [tenantId, difference]).sort()).toEqual(
      [
        [context.tenant.id, 1],
        [other.tenant.id, -1],
      ].sort(),
    );
  });
});

describe('a day that is too much for one statement', () => {
  it('is counted in smaller spans, and each moment of it once', async () => {
    const day = '2026-05-05';
    const spans: { from: number; to: number }[] = [];
    const service = new AccountService({
      database: test.database,
      store: {
        ...store,
        count: async (_, from, to) => {
          const span = { from: Date.parse(from), to: Date.parse(to) };
          if (span.to - span.from > 1_800_000) throw new Error('statement timeout');
          spans.push(span);
          return [];
        },
        save: async () => [],
      },
      onDifference: () => undefined,
    });
    await service.countDay(day, pulse);
    expect(spans[0]?.from).toBe(Date.parse(`${day}T00:00:00Z`));
    expect(spans.at(-1)?.to).toBe(Date.parse('2026-05-06T00:00:00Z'));
    for (const [n, { from }] of spans.entries()) if (n > 0) expect(from).toBe(spans[n - 1]?.to);
  });

  it('fails when no span can be counted', async () => {
    const service = new AccountService({
      database: test.database,
      store: { ...store, count: () => Promise.reject(new Error('no database')) },
      onDifference: () => undefined,
    });
    await expect(service.countDay('2026-05-05', pulse)).rejects.toThrow('no database');
  });
});

describe('what is due', () => {
  it('is today and yesterday always, and an older day once a day', async () => {
    const fresh = await createTestDatabase();
    const service = new AccountService({ database: fresh.database, store, onDifference: () => undefined });
    expect(await service.countDue(30, pulse)).toBe(31);
    await fresh.database.query('UPDATE delivery_account_days SET took_ms = 0');
    expect(await store.due(fresh.database, 30)).toEqual([
      { day: await dayOf(fresh.database, 0) },
      { day: await dayOf(fresh.database, 1) },
    ]);
    await fresh.database.query(
      `UPDATE delivery_account_days SET counted_at = now() - interval '25 hours' WHERE day = $1::date`,
      [await dayOf(fresh.database, 20)],
    );
    await fresh.database.query('UPDATE delivery_account_days SET took_ms = 600000 WHERE day = $1::date', [
      await dayOf(fresh.database, 0),
    ]);
    expect(await store.due(fresh.database, 30)).toEqual([
      { day: await dayOf(fresh.database, 1) },
      { day: await dayOf(fresh.database, 20) },
    ]);
    await fresh.drop();
  });
});
