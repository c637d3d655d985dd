// A transaction that somebody else leaves open in another database of the cluster.
import pg from 'pg';
import { inject } from 'vitest';

/** Opens one that has a number, as each that writes has. @returns a function that rolls it back */
export async function openForeignTransaction(): Promise<() => Promise<void>> {
  const url = new URL(inject('databaseUrl'));
  url.pathname = '/postgres';
  const client = new pg.Client({ connectionString: url.href, application_name: 'a stranger' });
  await client.connect();
  await client.query('BEGIN');
  await client.query('SELECT pg_current_xact_id()');
  return () => client.end();
}
