// A clock of the test's own for one database: every now() of the service's SQL reads it, so that days pass when a test
// says so. Columns' defaults and ids keep to the real time, and nothing decides by them: a relay that registers anew
// says its time itself.
import pg from 'pg';

const INSTALL = `
CREATE SCHEMA virtual_time;
CREATE TABLE virtual_time.clock (ahead interval NOT NULL);
INSERT INTO virtual_time.clock VALUES ('0');
CREATE FUNCTION virtual_time.now() RETURNS timestamptz LANGUAGE sql STABLE AS
  'SELECT pg_catalog.now() + ahead FROM virtual_time.clock';
CREATE FUNCTION virtual_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  'SELECT pg_catalog.clock_timestamp() + ahead FROM virtual_time.clock';`;

/** The schemas of who reads this clock. */
export const VIRTUAL_TIME = 'virtual_time,pg_catalog,public';

// Living relays live on: their beats are as old as before.
const ADVANCE = `
WITH moved AS (UPDATE virtual_time.clock SET ahead = ahead + $1::float8 * interval '1 millisecond')
UPDATE relays SET seen_at = seen_at + $1::float8 * interval '1 millisecond'`;

/** Gives the database a clock that can be advanced, of connections with the schemas `VIRTUAL_TIME`; to be called before
 * anything else connects to it. */
export async function installVirtualClock(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(INSTALL);
  } finally {
    await client.end();
  }
}

type Queries = { query(text: string, values?: readonly unknown[]): Promise<unknown> };
type Reads = { query<Row extends object>(text: string): Promise<{ rows: Row[] }> };

/** Lets so many milliseconds pass for everybody who asks this database for the time. */
export async function advanceClock(database: Queries, ms: number): Promise<void> {
  await database.query(ADVANCE, [ms]);
}

/** Reads the clock of a database. */
export async function readClock(database: Reads): Promise<Date> {
  const { rows } = await database.query<{ now: Date }>('SELECT now()::timestamptz(3) AS now');
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no time');
  return row.now;
}
