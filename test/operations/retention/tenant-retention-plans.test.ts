// What a shorter setting of one tenant costs beside a neighbour with many rows, and what no setting costs.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import * as tenants from '../../../src/identity/tenants/tenant-retention.store.ts';
import { LEAST_DAYS } from '../../../src/identity/tenants/tenant-retention.ts';
import { purgeAttempts } from '../../../src/webhooks/deliveries/delivery-expiry.store.ts';
import * as events from '../../../src/webhooks/intake/event-removal.store.ts';
import * as deliveries from '../../../src/webhooks/rows/removal.store.ts';
import { useTestDatabase } from '../../setup/database.ts';

const DAYS = 6;
const ROWS = 60_000;
const TENANT = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
const OTHER = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1c';
const NIL = '00000000-0000-0000-0000-000000000000';

const test = await useTestDatabase();

const filler = new pg.Client({ connectionString: test.url });
await filler.connect();
for (let day = 0; day <= DAYS; day += 1)
  for (const table of ['events', 'deliveries', 'attempts'])
    await filler.query(`SELECT ensure_day_partition('${table}', (now() AT TIME ZONE 'UTC')::date - ${day})`);
// One of 200 is the tenant's.
await filler.query(
  `CREATE TEMPORARY TABLE filled AS
     SELECT (left(uuid_of_time(at)::text, 14) || '7' || right(gen_random_uuid()::text, 21))::uuid AS id,
       CASE WHEN i % 200 = 0 THEN '${TENANT}'::uuid ELSE '${OTHER}'::uuid END AS tenant_id, i, at
     FROM generate_series(1, ${ROWS}) AS i, LATERAL (SELECT now() - i * interval '${DAYS * 86_000} s' / ${ROWS} AS at) AS t`,
);
await filler.query(
  `INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, deliveries)
     SELECT id, tenant_id, gen_random_uuid()::text, 'x', at, convert_to(repeat('x', 300), 'UTF8'), 1 FROM filled`,
);
await filler.query(
  `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status)
     SELECT delivery_id_of(id, tenant_id), tenant_id, tenant_id, id, '', 'x', 'delivered' FROM filled`,
);
await filler.query(
  `INSERT INTO attempts (delivery_id, n, tenant_id, subscription_id, generation, started_at, duration_ms, outcome)
     SELECT delivery_id_of(id, tenant_id), 1, tenant_id, tenant_id, 0, at, 1, 'delivered' FROM filled`,
);
await filler.query('VACUUM ANALYZE events, deliveries, attempts');
await filler.end();

/** A connection that adds up the 8 KiB pages that its statements read, and undoes them. */
function measuring() {
  const plans: string[] = [];
  let pages = 0;
  const query = async <Row extends object>(
    text: string,
    values?: readonly unknown[],
    members?: 'camelCase',
  ) => {
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      await client.query('BEGIN');
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE, BUFFERS) ${text}`, [
        ...(values ?? []),
      ]);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      plans.push(plan);
      const [, hit, read] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
      pages += Number(hit ?? 0) + Number(read ?? 0);
    } finally {
      await client.end();
    }
    return test.database.query<Row>(text, values, members);
  };
  return { plans, query, pages: () => pages };
}

const place = [TENANT, LEAST_DAYS] as const;

describe('beside 60,000 rows of a neighbour', () => {
  it('a page of old deliveries, and their removal, read what they remove', async () => {
    const unit = measuring();
    const page = await deliveries.pageOfOld(unit, ...place, NIL, 50);
    expect(page).toHaveLength(50);
    const ids = page.map(({ id }) => id);
    expect(unit.pages()).toBeLessThan(50 * 8);
    await purgeAttempts(unit, ids);
    await deliveries.removeEnded(unit, ids);
    expect(unit.pages()).toBeLessThan(50 * 25);
  });

  it('a page of old events, and their removal, read what they remove', async () => {
    const unit = measuring();
    const page = await events.pageOfOld(unit, ...place, '', 50);
    expect(page).toHaveLength(50);
    expect(unit.pages()).toBeLessThan(50 * 8);
    await events.remove(
      unit,
      page.map(({ id }) => id),
    );
    expect(unit.pages()).toBeLessThan(50 * 12);
  });

  it('no setting costs a read of the tenants', async () => {
    const unit = measuring();
    expect(await tenants.list.deliveriesDays(unit, false)).toEqual([]);
    expect(unit.pages()).toBeLessThan(10);
  });
});
