// What the relay's lag costs, and whether it sees what it is to see, behind many endpoints that are closed.
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { readLag } from '../../../src/webhooks/backlog/backlog.store.ts';
import { useTestDatabase } from '../../setup/database.ts';

const CLOSED = 6_000;
const IDLE = 2_000;

const test = await useTestDatabase();
const filler = new pg.Client({ connectionString: test.url });
await filler.connect();
// Without subscriptions and deliveries: nothing here asks for them.
await filler.query('SET session_replication_role = replica');
const endpoints = (from: number, to: number, active: boolean) =>
  filler.query(
    `INSERT INTO endpoints (subscription_id, tenant_id, active)
       SELECT lpad(to_hex(i), 32, '0')::uuid, lpad(to_hex(i % 7), 32, '0')::uuid, $3 FROM generate_series($1::int, $2::int) AS i`,
    [from, to, active],
  );
const rows = (each: number, seconds: number, which: string) =>
  filler.query(
    `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, created_at)
       SELECT gen_random_uuid(), tenant_id, subscription_id, gen_random_uuid(), 'first', now() - make_interval(secs => $2)
       FROM endpoints, generate_series(1, $1::int) WHERE ${which}`,
    [each, seconds],
  );
await endpoints(1, CLOSED, false);
await rows(15, 7_200, 'NOT active');
await endpoints(CLOSED + 1, CLOSED + IDLE, true);
// The last one in every order, and long.
await filler.query(
  "INSERT INTO endpoints (subscription_id, tenant_id) VALUES (repeat('f', 32)::uuid, repeat('f', 32)::uuid)",
);
await rows(10_000, 3_600, "subscription_id = repeat('f', 32)::uuid");
await filler.query('VACUUM ANALYZE endpoints, outbox');
await filler.end();

afterAll(() => test?.drop());

describe('the lag of the relays, behind 6,000 closed endpoints with work', () => {
  it('is that of the one open endpoint where something waits', async () => {
    const lag = await readLag(test.database);
    expect(lag).toMatchObject({ other: null, command: null, complete: true });
    expect(lag?.healthy).toBeGreaterThan(3_599);
    expect(lag?.healthy).toBeLessThan(7_200);
  });

  it('costs one probe of the outbox for each open endpoint, however much waits', async () => {
    const plans: string[] = [];
    await readLag({
      query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
        const { rows } = await test.database.query<{ 'QUERY PLAN': string }>(
          `EXPLAIN (ANALYZE, BUFFERS) ${text}`,
          values,
        );
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return test.database.query<Row>(text, values, members);
      },
    });
    const [plan = ''] = plans;
    expect(plan).toMatch(/Index (Only )?Scan using outbox_ready on outbox/);
    expect(plan).not.toMatch(/Seq Scan on outbox|Bitmap Heap Scan on outbox/);
    const [, hit = '0', read = '0'] = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(plan) ?? [];
    // Three levels of the index, and the endpoints themselves.
    expect(Number(hit ?? 0) + Number(read ?? 0), plan).toBeLessThan(4 * IDLE + 1_000);
  });
});
