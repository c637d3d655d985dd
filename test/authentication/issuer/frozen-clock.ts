// A clock of a database that stands still until a test moves it: every now() of the service's SQL reads it, to the
// millisecond.
import pg from 'pg';
import type { Database } from '../../../src/platform/database/database.ts';

const INSTALL = `
CREATE SCHEMA frozen_time;
CREATE TABLE frozen_time.clock (at timestamptz NOT NULL);
INSERT INTO frozen_time.clock VALUES ('2026-01-01T00:00:00Z');
CREATE FUNCTION frozen_time.now() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM frozen_time.clock';
CREATE FUNCTION frozen_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT at FROM frozen_time.clock';`;

/** The schemas of who reads this clock. */
export const FROZEN_TIME = 'frozen_time,pg_catalog,public';

/** Where it begins. */
export const BEGINNING = Date.parse('2026-01-01T00:00:00Z');

/** To be called before anything else connects to the database. @param url its connection string */
export async function installFrozenClock(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(INSTALL);
  } finally {
    await client.end();
  }
}

/** Sets the time. @param at milliseconds since 1970 */
export async function setClock(database: Pick<Database, 'query'>, at: number): Promise<void> {
  await database.query('UPDATE frozen_time.clock SET at = $1', [new Date(at)]);
}
