// The role that api and worker connect as. It reads and writes rows, owns nothing, and may only add to the audit log.
// docs/decisions/0023-database-roles.md
import type pg from 'pg';
import { ConfigError } from '../config.ts';
import { newClient } from './client.ts';
import { translateDatabaseError } from './errors.ts';

/** With a password, the role is made where it is missing, and gets this password. */
export type ServiceRole = { readonly name: string; readonly password?: string | undefined };

/** An arbitrary constant: the key of the advisory lock, so that one process grants at a time. */
const LOCK = 7_263_512;

/** What the role may be that it must not: the rights of a superuser or an owner know no limits. */
const FAULT = `
SELECT CASE WHEN r.rolsuper THEN 'is a superuser'
  WHEN EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
    AND pg_has_role(r.oid, c.relowner, 'MEMBER')) THEN 'owns tables of the service' END AS fault
FROM pg_roles r WHERE r.rolname = $1`;

/** `refused`: bits of pg_trigger.tgtype for what a trigger refuses; 8 is DELETE, 16 UPDATE. */
const TABLES = `
SELECT quote_ident(c.relname) AS name, c.relkind = 'v' OR c.relname IN ('schema_migrations', 'subscription_filters') AS "isForReading",
  coalesce(bit_or(t.tgtype::int) FILTER (WHERE t.tgfoid = to_regproc('refuse_change')), 0) AS refused
FROM pg_class c LEFT JOIN pg_trigger t ON t.tgrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p', 'v') AND (NOT c.relispartition OR pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT')
GROUP BY c.oid ORDER BY c.relname`;

type TableRights = { readonly name: string; readonly isForReading: boolean; readonly refused: number };

/**
 * Grants the role what api and worker need, and takes from it what it has beyond. It can be repeated.
 * @param url connection string of the owner of the migrated tables
 * @throws ConfigError naming DATABASE_ROLE for a role that is missing or cannot be bounded
 */
export async function grantServiceRole(url: string, role: ServiceRole): Promise<void> {
  const client = newClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
  try {
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
    await makeRole(client, role);
    await grant(client, client.escapeIdentifier(role.name));
    await client.query('COMMIT');
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function makeRole(client: pg.Client, { name, password }: ServiceRole): Promise<void> {
  const { rows } = await client.query<{ fault: string | null }>(FAULT, [name]);
  const [known] = rows;
  if (known?.fault) throw new ConfigError('DATABASE_ROLE', `${name} ${known.fault}: name a role of its own`);
  if (known === undefined && password === undefined)
    throw new ConfigError(
      'DATABASE_ROLE',
      `there is no role ${name}: set DATABASE_ROLE_PASSWORD, or run CREATE ROLE ${client.escapeIdentifier(name)} LOGIN PASSWORD '…'`,
    );
  if (password === undefined) return;
  const verb = known === undefined ? 'CREATE' : 'ALTER';
  await client.query(
    `${verb} ROLE ${client.escapeIdentifier(name)} LOGIN PASSWORD ${client.escapeLiteral(password)}`,
  );
}

async function grant(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query<TableRights & { schema: string; database: string }>(
    `SELECT quote_ident(current_schema()) AS schema, quote_ident(current_database()) AS database, t.* FROM (${TABLES}) AS t`,
  );
  const [{ schema = '', database = '' } = {}] = rows;
  await client.query(
    [
      `REVOKE CREATE ON SCHEMA ${schema} FROM PUBLIC, ${role}`,
      `REVOKE CREATE, TEMPORARY ON DATABASE ${database} FROM PUBLIC, ${role}`,
      `GRANT CONNECT ON DATABASE ${database} TO ${role}`,
      `GRANT USAGE ON SCHEMA ${schema} TO ${role}`,
      `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM PUBLIC, ${role}`,
      ...rows.map((table) => `GRANT ${rightsOn(table).join(', ')} ON ${table.name} TO ${role}`),
      `GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${schema} TO ${role}`,
      `GRANT EXECUTE ON FUNCTION keep_day_partition, erase_audit_rows, remove_client_addresses, renew_statistics TO ${role}`,
    ].join(';\n'),
  );
}

function rightsOn({ isForReading, refused }: TableRights): string[] {
  if (isForReading) return ['SELECT'];
  return [
    'SELECT',
    'INSERT',
    ...((refused & 16) === 0 ? ['UPDATE'] : []),
    ...((refused & 8) === 0 ? ['DELETE'] : []),
  ];
}
