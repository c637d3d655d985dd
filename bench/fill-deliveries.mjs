// Fills the database of a stack with deliveries: those of a month that have ended, and those that sleep until their
// next attempt.

/** Days of history: retention takes the day before away. */
const DAYS = 29;

const BODY = `{"type":"bench.endpoint.e0","data":{"published_at":1,"filler":"${'x'.repeat(380)}"}}`;

const EVENTS = `
INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, deliveries, created_at)
SELECT event, tenant_id, event::text, 'bench.endpoint.e0', at, '${BODY}'::text::bytea, 1, at FROM day_rows`;

const DELIVERED = `
INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status, attempt_count, last_status_code, created_at,
  completed_at)
SELECT delivery, tenant_id, subscription_id, event, event::text, 'bench.endpoint.e0', 'delivered', 1, 204, at, at FROM day_rows`;

const SLEEPING = `
INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status, attempt_count, failed_attempts,
  next_attempt_at, started_generation, needs_workflow, last_status_code, last_error, created_at)
SELECT delivery, tenant_id, subscription_id, event, event::text, 'bench.endpoint.e0', 'retrying', 1, 1,
  now() + interval '1 hour' + random() * interval '2 days', CASE WHEN n > $1 THEN 0 END, n <= $1, 503, 'http:503', at FROM day_rows`;

const attempts = (status, outcome, error) => `
INSERT INTO attempts (delivery_id, n, tenant_id, subscription_id, generation, started_at, duration_ms, phases, status_code, outcome, error,
  recorded_at)
SELECT delivery, 1, tenant_id, subscription_id, 0, at, 4, '{"dns_ms":0,"connect_ms":0,"first_byte_ms":3,"total_ms":4}', ${status}, ${outcome},
  ${error}, at FROM day_rows`;

/**
 * Delivered events of the days before today, half of them of one subscription. Each day is loaded before it becomes a
 * partition, so that its indexes are built once.
 * @param fill.say receives a line for each day
 */
export async function fillHistory(database, { subscriptionId, count, say }) {
  await database.query(`SET synchronous_commit = off; SET maintenance_work_mem = '256MB'`);
  await numberOwners(database, subscriptionId);
  for (let day = DAYS; day >= 1; day -= 1) {
    const rows = Math.floor(count / DAYS) + (day <= count % DAYS ? 1 : 0);
    const { rows: dates } = await database.query(
      `SELECT date::text, to_char(date, 'YYYYMMDD') AS suffix FROM ((SELECT (now() AT TIME ZONE 'UTC')::date - ${day} AS date)) AS d`,
    );
    const [{ date, suffix }] = dates;
    await makeRows(database, { from: `'${date}T00:00:00Z'::timestamptz`, length: '1 day', rows });
    await loadDay(database, { parent: 'events', date, suffix }, EVENTS);
    await loadDay(database, { parent: 'deliveries', date, suffix }, DELIVERED);
    await loadDay(database, { parent: 'attempts', date, suffix }, attempts(204, `'delivered'`, 'NULL'));
    say(`${date}: ${rows} deliveries`);
  }
  await finish(database);
}

/**
 * Deliveries of the last minutes that wait for their second attempt. With `workflows` the relay starts one for each of
 * the first so many.
 */
export async function fillAsleep(database, { subscriptionId, count, workflows }) {
  await numberOwners(database, subscriptionId);
  await makeRows(database, { from: `now() - interval '10 minutes'`, length: '10 minutes', rows: count });
  await database.query(EVENTS);
  await database.query(SLEEPING, [workflows]);
  await database.query(attempts(503, `'retry'`, `'http:503'`));
  await database.query(
    `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind, rank)
     SELECT gen_random_uuid(), tenant_id, subscription_id, delivery, 'start', 1 FROM day_rows WHERE n <= $1`,
    [workflows],
  );
  await finish(database);
}

/** @returns bytes on disk a delivery: of the rows and the indexes of each table */
export async function measureBytes(database) {
  const { rows } = await database.query(
    `SELECT parent, sum(pg_table_size(i.inhrelid))::float8 AS rows, sum(pg_indexes_size(i.inhrelid))::float8 AS indexes
     FROM unnest('{events,deliveries,attempts}'::text[]) AS parent JOIN pg_inherits i ON i.inhparent = parent::regclass GROUP BY parent`,
  );
  const [{ count }] = (await database.query('SELECT count(*)::int AS count FROM deliveries')).rows;
  return Object.fromEntries(
    rows.map(({ parent, rows: bytes, indexes }) => [
      parent,
      { rows: bytes / count, indexes: indexes / count },
    ]),
  );
}

/** Every second row is of the subscription, the others of all other subscriptions in turn. */
async function numberOwners(database, subscriptionId) {
  await database.query(
    `CREATE TEMP TABLE owners AS
     SELECT row_number() OVER (ORDER BY (id = '${subscriptionId}') DESC, id) - 1 AS n, id AS subscription_id, tenant_id FROM subscriptions`,
  );
  await database.query('CREATE INDEX ON owners (n); ANALYZE owners');
}

/** The ids and owners of so many deliveries, evenly over a time. */
async function makeRows(database, { from, length, rows }) {
  await database.query('DROP TABLE IF EXISTS day_rows');
  await database.query(
    `CREATE TEMP TABLE day_rows AS
     SELECT made.n, at, event, delivery_id_of(event, subscription_id) AS delivery, subscription_id, tenant_id
     FROM (SELECT count(*) AS total FROM owners) AS o CROSS JOIN LATERAL (
       SELECT n, at, CASE WHEN n % 2 = 0 THEN 0 ELSE (n / 2) % o.total END AS owner,
         (substr(uuid_of_time(at)::text, 1, 14) || '7' || substr(md5(n::text || at::text), 1, 3) || '-8' || substr(md5(n::text || at::text), 4, 3)
           || '-' || substr(md5(n::text || at::text), 7, 12))::uuid AS event
       FROM (SELECT n, ${from} + interval '${length}' * ((n - 1)::float8 / ${rows}) AS at FROM generate_series(1, ${rows}) AS n) AS times
     ) AS made JOIN owners w ON w.n = made.owner`,
  );
}

async function loadDay(database, { parent, date, suffix }, insert) {
  const child = `${parent}_${suffix}`;
  await database.query(`DROP TABLE IF EXISTS ${child}`);
  await database.query(`CREATE TABLE ${child} (LIKE ${parent} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`);
  if (parent !== 'events') await database.query(`ALTER TABLE ${child} SET (fillfactor = 80)`);
  await database.query(insert.replace(`INTO ${parent} `, `INTO ${child} `));
  await database.query(
    `ALTER TABLE ${parent} ATTACH PARTITION ${child}
     FOR VALUES FROM (uuid_of_time('${date}T00:00:00Z')) TO (uuid_of_time('${date}T00:00:00Z'::timestamptz + interval '1 day'))`,
  );
}

async function finish(database) {
  await database.query('DROP TABLE owners; DROP TABLE day_rows');
  for (const table of ['events', 'deliveries', 'attempts']) await database.query(`VACUUM ANALYZE ${table}`);
}
