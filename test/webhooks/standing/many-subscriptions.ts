// A tenant with thousands of subscriptions in all states, of rows alone: no process has to bring them there.
import type { Queryable } from '../../../src/platform/database/transaction.ts';

type Kind = {
  readonly name: string;
  readonly state: string;
  readonly severity: string;
  /** Columns of the endpoint. */
  readonly columns: string;
  readonly stream?: true;
  readonly disabled?: string;
  /** At least and at most so many deliveries wait. */
  readonly waiting: readonly [number, number];
  /** Of the last 24 hours so many have failed for good, with one answer, and so many were delivered. */
  readonly ended?: readonly [number, number];
};

const DOWN = `state = 'down', failing_since = now() - interval '3 hours', last_error = 'connect:ECONNREFUSED', probe_at = now()`;
const failing = (deliveries: number) =>
  `failing_since = now() - interval '5 minutes', last_error = 'http:500', failing_deliveries = array_fill(gen_random_uuid(), ARRAY[${deliveries}])`;

/** The first kinds in turn, each of 25th; all others are open. */
export const KINDS: readonly Kind[] = [
  {
    name: 'down',
    state: 'down',
    severity: 'critical',
    columns: `${DOWN} + interval '1 hour'`,
    waiting: [0, 3],
  },
  {
    ...{ name: 'down-stream', state: 'down', severity: 'critical', stream: true, waiting: [1, 2] },
    columns: `${DOWN} + interval '1 hour'`,
  },
  {
    ...{ name: 'probing', state: 'probing', severity: 'critical', waiting: [0, 2] },
    columns: `${DOWN} - interval '1 minute'`,
  },
  {
    ...{ name: 'down-and-held', state: 'held', severity: 'warning', waiting: [0, 1] },
    columns: `${DOWN} + interval '1 hour', hold_until = now() + interval '2 hours'`,
  },
  {
    ...{ name: 'held', state: 'held', severity: 'warning', waiting: [0, 3] },
    columns: `state = 'held', hold_until = now() + interval '2 hours', last_error = 'http:503'`,
  },
  {
    ...{ name: 'held-by-operator', state: 'held', severity: 'warning', waiting: [0, 1] },
    columns: `host_held_until = 'infinity'`,
  },
  {
    name: 'hold-over',
    state: 'open',
    severity: 'none',
    columns: `hold_until = now() - interval '1 hour'`,
    waiting: [0, 1],
  },
  { name: 'failing', state: 'failing', severity: 'warning', columns: failing(3), waiting: [0, 2] },
  { name: 'failed-once', state: 'failing', severity: 'notice', columns: failing(1), waiting: [0, 1] },
  { name: 'releasing', state: 'releasing', severity: 'none', columns: 'permits = 1', waiting: [1, 3] },
  { name: 'paced', state: 'open', severity: 'none', columns: 'permits = 1', waiting: [0, 0] },
  { name: 'inactive', state: 'inactive', severity: 'notice', columns: 'active = false', waiting: [1, 3] },
  { name: 'inactive-idle', state: 'inactive', severity: 'none', columns: 'active = false', waiting: [0, 0] },
  {
    ...{ name: 'gone', state: 'inactive', severity: 'warning', disabled: 'gone', waiting: [0, 1] },
    columns: 'active = false',
  },
  {
    ...{ name: 'suspended', state: 'suspended', severity: 'warning', waiting: [0, 1] },
    columns: `tenant_held_until = 'infinity'`,
  },
  {
    ...{ name: 'many-failures', state: 'open', severity: 'warning', waiting: [0, 1], ended: [4, 75] },
    columns: 'active = true',
  },
  {
    ...{ name: 'few-failures', state: 'open', severity: 'none', waiting: [0, 0], ended: [4, 76] },
    columns: 'active = true',
  },
  {
    ...{ name: 'two-failures', state: 'open', severity: 'none', waiting: [0, 0], ended: [2, 0] },
    columns: 'active = true',
  },
  {
    ...{ name: 'many-and-failing', state: 'failing', severity: 'warning', waiting: [0, 0], ended: [3, 9] },
    columns: failing(1),
  },
  { name: 'open', state: 'open', severity: 'none', columns: 'active = true', waiting: [0, 1] },
];

const DELIVERY = `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status, created_at, completed_at, last_error, last_status_code, attempt_count)
  SELECT (left(uuid_of_time(at)::text, 13) || right(gen_random_uuid()::text, 23))::uuid, s.tenant_id, s.id, gen_random_uuid(), gen_random_uuid()::text, 'orders.placed'`;

/** Fills a tenant. Deliveries wait for up to 20 days; some have failed for good, a part of them before a day ago. */
export async function fillTenant(queryable: Queryable, tenantId: string, size: number): Promise<void> {
  const kinds = KINDS.map(({ name }, n) => `WHEN ${n} THEN '${name}'`).join(' ');
  await queryable.query(
    `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed, description)
     SELECT (left(uuid_of_time(now() - n * interval '1 minute')::text, 13) || right(gen_random_uuid()::text, 23))::uuid, $1,
       'https://hooks-' || n || '.example.com/orders', 'hooks-' || n || '.example.com', '{orders.*}', '{orders.*}', 'audit', '\\x00',
       CASE n % 25 ${kinds} ELSE 'open' END
     FROM generate_series(1, $2::int) AS n`,
    [tenantId, size],
  );
  await queryable.query(
    'INSERT INTO endpoints (subscription_id, tenant_id) SELECT id, tenant_id FROM subscriptions WHERE tenant_id = $1 ON CONFLICT DO NOTHING',
    [tenantId],
  );
  for (const { name, columns, stream, disabled, waiting, ended = [0, 0] } of KINDS) {
    const mine = 'tenant_id = $1 AND description = $2';
    await queryable.query(
      `UPDATE endpoints SET ${columns} WHERE subscription_id IN (SELECT id FROM subscriptions WHERE ${mine})`,
      [tenantId, name],
    );
    await queryable.query(
      `UPDATE subscriptions SET disabled_reason = $3, stream_audience = $4 WHERE ${mine}`,
      [tenantId, name, disabled ?? null, stream === true ? 'https://receiver.example' : null],
    );
    await queryable.query(
      `${DELIVERY}, 'pending', at, NULL, NULL, NULL, 0
       FROM (SELECT *, row_number() OVER (ORDER BY id)::int AS place FROM subscriptions WHERE ${mine}) AS s,
         generate_series(1, $3::int + place % ($4::int - $3::int + 1)) AS m, LATERAL (SELECT now() - (place % 20) * interval '1 day' - m * interval '1 hour' AS at) AS t`,
      [tenantId, name, ...waiting],
    );
    await queryable.query(
      `${DELIVERY}, 'failed', at, at + interval '1 minute', 'http:422', 422, 3
       FROM subscriptions s, generate_series(1, $3::int) AS m, LATERAL (SELECT now() - m * interval '2 hours' AS at) AS t WHERE ${mine}`,
      [tenantId, name, ended[0]],
    );
    // As two hours have counted them; a third is too long ago.
    await queryable.query(
      `INSERT INTO delivery_hours (tenant_id, subscription_id, hour, delivered, failed, canceled, unfinished)
       SELECT $1, id, date_trunc('hour', now(), 'UTC') - h * interval '1 hour', CASE h WHEN 2 THEN $4::int WHEN 30 THEN 500 ELSE 0 END,
         CASE h WHEN 5 THEN $3::int WHEN 30 THEN 500 ELSE 0 END, 0, 0
       FROM subscriptions, unnest(ARRAY[2, 5, 30]) AS h WHERE ${mine} AND $3 > 0`,
      [tenantId, name, ...ended],
    );
  }
  await queryable.query(
    `${DELIVERY}, 'failed', at, at + interval '2 hours', code, replace(code, 'http:', '')::int, 3
     FROM (SELECT *, row_number() OVER (ORDER BY id)::int AS place FROM subscriptions WHERE tenant_id = $1 AND description = 'open') AS s,
       generate_series(1, place % 6) AS m, LATERAL (SELECT now() - m * interval '7 hours' AS at, CASE m % 2 WHEN 0 THEN 'http:422' ELSE 'http:400' END AS code) AS t
     WHERE place <= 400`,
    [tenantId],
  );
  await queryable.query('ANALYZE subscriptions, endpoints, deliveries');
}

/** What the rows say, by the kind that each was made as. */
export async function countTenant(queryable: Queryable, tenantId: string) {
  const { rows } = await queryable.query<{
    kind: string;
    subscriptions: number;
    waiting: number;
    oldest: Date | null;
  }>(
    `SELECT s.description AS kind, count(DISTINCT s.id)::int AS subscriptions, count(d.id)::int AS waiting, min(d.created_at) AS oldest
     FROM subscriptions s LEFT JOIN deliveries d ON d.subscription_id = s.id AND d.status IN ('pending', 'retrying')
     WHERE s.tenant_id = $1 GROUP BY 1`,
    [tenantId],
  );
  const { rows: failed } = await queryable.query<{
    id: string;
    kind: string;
    answer: string;
    count: number;
  }>(
    `SELECT subscription_id AS id, last_error AS answer, count(*)::int AS count,
       (SELECT description FROM subscriptions s WHERE s.id = subscription_id) AS kind FROM deliveries
     WHERE tenant_id = $1 AND status = 'failed' AND completed_at > now() - interval '1 day' GROUP BY 1, 2`,
    [tenantId],
  );
  const stateOf = ({ kind }: { kind: string }) => KINDS.find(({ name }) => name === kind) as Kind;
  const add = (of: 'subscriptions' | 'waiting', matches: (kind: Kind) => boolean = () => true): number =>
    rows.filter((row) => matches(stateOf(row))).reduce((sum, row) => sum + row[of], 0);
  const pairs = new Map(rows.map((row) => [`${stateOf(row).state} ${stateOf(row).severity}`, stateOf(row)]));
  return {
    states: [...pairs.values()].map(({ state, severity }) => {
      const isOne = (kind: Kind) => kind.state === state && kind.severity === severity;
      const times = rows
        .filter((row) => isOne(stateOf(row)))
        .flatMap(({ oldest }) => oldest?.getTime() ?? []);
      return {
        ...{ state, severity, subscriptions: add('subscriptions', isOne), waiting: add('waiting', isOne) },
        streams: add('subscriptions', (kind) => isOne(kind) && kind.stream === true),
        oldest_waiting_at: times.length === 0 ? null : new Date(Math.min(...times)).toISOString(),
      };
    }),
    subscriptions: add('subscriptions'),
    inTrouble: add('subscriptions', ({ severity }) => severity !== 'none'),
    waiting: add('waiting'),
    failed: failed.reduce((sum, { count }) => sum + count, 0),
    groups: failed.length,
    kindOf: (id: string) => failed.find((group) => group.id === id)?.kind,
    ofState: (state: string) => add('subscriptions', (kind) => kind.state === state),
  };
}
