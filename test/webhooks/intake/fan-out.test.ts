// Which subscriptions an event reads: those that its type finds among the filters of live subscriptions, which a
// trigger keeps.
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type EventRecord, prepareEvent } from '../../../src/events/event.ts';
import type { AnswerKey } from '../../../src/platform/answer-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { emit, publish } from '../../../src/webhooks/intake/event.store.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTenantContext, insertSubscription } from './fixture.ts';

const { database } = await useTestDatabase();

const STORED =
  'SELECT tenant_id, filter, subscription_id, is_stream FROM subscription_filters ORDER BY 1, 2, 3';
const DERIVED = `
SELECT DISTINCT tenant_id, filter, id AS subscription_id, stream_audience IS NOT NULL AS is_stream
FROM subscriptions CROSS JOIN LATERAL unnest(filters) AS filter WHERE deleted_at IS NULL ORDER BY 1, 2, 3`;

async function expectKept(queryable: Queryable): Promise<number> {
  const stored = (await queryable.query(STORED)).rows;
  expect(stored).toEqual((await queryable.query(DERIVED)).rows);
  return stored.length;
}

const FILTERS = fc.array(fc.constantFrom('*', 'org.*', 'org.created', 'org.member.added'), { maxLength: 5 });
const CHANGES = fc.array(
  fc.oneof(
    FILTERS.map((filters) => ['filters = $2', filters] as const),
    fc.boolean().map((deleted) => ['deleted_at = $2', deleted ? new Date() : null] as const),
    fc.constant(['url = $2', 'https://b.example'] as const),
    FILTERS.map((filters) => ["deleted_at = now(), url = 'x', filters = $2", filters] as const),
  ),
  { maxLength: 6 },
);

describe('the filters of live subscriptions', () => {
  it('are those of the rows, whatever was inserted, changed, deleted and removed', async () => {
    const context = await createTenantContext(database);
    await fc.assert(
      fc.asyncProperty(FILTERS, CHANGES, fc.boolean(), async (filters, changes, removed) => {
        const id = await insertSubscription(database, context, { filters });
        await expectKept(database);
        for (const [set, value] of changes) {
          await database.query(`UPDATE subscriptions SET ${set} WHERE id = $1`, [
            id,
            ...(set.includes('$2') ? [value] : []),
          ]);
          await expectKept(database);
        }
        if (!removed) return;
        await database.query('DELETE FROM endpoints WHERE subscription_id = $1', [id]);
        await database.query('DELETE FROM subscriptions WHERE id = $1', [id]);
        await expectKept(database);
      }),
      { numRuns: 25 },
    );
  });
});

async function explain(send: (queryable: Queryable) => Promise<unknown>): Promise<string> {
  let plan = '';
  const query: Queryable['query'] = async (text, values) => {
    const { rows } = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE) ${text}`, values);
    plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    return { rows: [], rowCount: 0 };
  };
  await send({ query });
  return plan;
}

describe('a hundred events in one statement', () => {
  const scope = { principal: 'application', route: 'publishEvents' };
  const claim = {
    instance: newId(),
    epoch: 1,
    room: 64,
    perEndpoint: 16,
    full: [],
    slowMs: 1_000,
    quietFor: 0,
  };

  it.each([
    ['emitted', (q: Queryable, records: EventRecord[]) => emit(q, records)],
    [
      'published under keys and claimed',
      (q: Queryable, records: EventRecord[]) => {
        const answer = (key: string) => ({ scope: { ...scope, key }, digest: Buffer.alloc(32) }) as AnswerKey;
        const digest = '00'.repeat(32);
        return publish(
          q,
          records.map((record) => ({ record, digest, answer: answer(record.id) })),
          claim,
        );
      },
    ],
  ])('%s, are not compared with each other', async (_, send) => {
    const context = await createTenantContext(database);
    await insertSubscription(database, context, { filters: ['*'] });
    const of = { tenantId: context.tenant.id, now: new Date() };
    const records = Array.from({ length: 100 }, () =>
      prepareEvent({ type: 'org.created', data: {} }, { ...of, id: newId() }),
    );
    const plan = await explain((queryable) => send(queryable, records));
    expect(plan).toMatch(/Insert on outbox .*\n.*\n\s+Tuples Inserted: 100/);
    // A table of a few rows may be read whole for each event; the hundred with each other would be 9,900.
    const removed = [...plan.matchAll(/Rows Removed by Join Filter: (\d+)/g)].map(([, rows]) => Number(rows));
    expect(Math.max(0, ...removed), plan).toBeLessThan(99 * 100);
  });
});

describe('an event of a tenant with a thousand subscriptions to other types', () => {
  const event = (tenantId: string, type: string) =>
    prepareEvent({ type, data: {} }, { id: newId(), tenantId, now: new Date() });
  let tenantId: string;
  beforeAll(async () => {
    const context = await createTenantContext(database);
    tenantId = context.tenant.id;
    const pattern = await insertSubscription(database, context, { filters: ['org.*'] });
    await database.query(
      `INSERT INTO subscriptions SELECT (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
         'filters', jsonb_build_array('size.n' || n)))).*
       FROM subscriptions s, generate_series(1, 1000) AS n WHERE s.id = $1`,
      [pattern],
    );
  });

  it.each([
    ['emitted', (q: Queryable, type: string) => emit(q, [event(tenantId, type)])],
    [
      'published',
      (q: Queryable, type: string) =>
        publish(q, [{ record: event(tenantId, type), digest: '00'.repeat(32) }]),
    ],
  ])('%s, reads only the subscription that its type finds', async (_, send) => {
    // With statistics of the rows the planner may choose a bitmap.
    await database.query('ANALYZE subscriptions, subscription_filters');
    for (const [type, expected] of [
      ['org.created', 1],
      ['nothing.subscribed', 0],
    ] as const) {
      const plan = await explain((queryable) => send(queryable, type));
      const scans = [
        ...plan.matchAll(/ on (subscriptions|subscription_filters)\b.*?actual time=\S+ rows=([\d.]+)/g),
      ];
      expect(scans.map(([, table, rows]) => [table, Number(rows)]).sort()).toEqual([
        ['subscription_filters', expected],
        ['subscriptions', 0],
      ]);
      for (const [, removed] of plan.matchAll(/Rows Removed by Filter: (\d+)/g))
        expect(Number(removed)).toBeLessThan(2);
    }
  });
});
