// What a session is set to, sent with each connection: a role, a database or a server may have other settings, by which
// statements and values would have another meaning.
import type { Queryable } from './transaction.ts';

/**
 * The settings by which the driver and the statements of the service read and write values, as pg_settings shows them.
 * The driver itself sends the encoding.
 */
export const SESSION: Readonly<Record<string, string>> = {
  DateStyle: 'ISO, MDY',
  TimeZone: 'UTC',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  transform_null_equals: 'off',
  array_nulls: 'on',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
};

/** Where the tables lie, unless the address names another schema by its parameter `options`. */
const SCHEMA = '-c search_path=public';

const OPTIONS = /([?&])options=([^&#]*)(&|(?=#)|$)/;

/**
 * Adds the settings of a session to those of a connection. The driver would take the `options` of the address in place
 * of all others.
 * @param config as of `pg`; its `options` come last, so they decide
 */
export function withSession<
  Config extends { connectionString?: string | undefined; options?: string | undefined },
>(config: Config): Config {
  const { connectionString: url, options = '' } = config;
  const given = OPTIONS.exec(url ?? '')?.[2] ?? '';
  return {
    ...config,
    ...(url === undefined ? {} : { connectionString: url.replace(OPTIONS, '$1') }),
    options: [SCHEMA, decodeURIComponent(given.replaceAll('+', ' ')), writeOptions(SESSION), options]
      .join(' ')
      .trim(),
  };
}

/** Writes settings as options of a connection. */
export const writeOptions = (settings: Readonly<Record<string, string | number>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${String(value).replaceAll(' ', '\\ ')}`)
    .join(' ');

const PROBE = 'SELECT applied_at AS at FROM schema_migrations LIMIT 1';

/**
 * Reads a table and a time, to find out whether a session is usable.
 * @throws Error when it does not answer, finds no tables, or writes times in a form that the driver does not read
 */
export async function probeSession(queryable: Queryable): Promise<void> {
  const { rows } = await queryable.query<{ at: unknown }>(PROBE);
  const at = rows[0]?.at;
  if (at instanceof Date && !Number.isNaN(at.getTime())) return;
  throw new Error('a session of the database writes times in a form that cannot be read: see its DateStyle');
}
