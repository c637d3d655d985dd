// A fresh, migrated database for one test file, cloned from a template that the first caller of the run makes.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, inject } from 'vitest';
import { AuditBeginning } from '../../src/audit/beginning.service.ts';
import { sealingKeys } from '../../src/platform/config-values.ts';
import {
  createDatabase,
  DATABASE_LIMITS,
  type DatabaseLimits,
  type DatabaseOptions,
} from '../../src/platform/database/database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { grantServiceRole } from '../../src/platform/database/service-role.ts';

/** The AUDIT_KEY of most tests. Its holder has begun the audit log of the template. */
export const AUDIT_KEY = Buffer.alloc(32, 160).toString('base64');
export const AUDIT_KEYS = sealingKeys.parse(AUDIT_KEY);

const TEMPLATE = 'countersign_template';
const LOCK = 4_711;

/** What api and worker connect as. */
export const SERVICE_ROLE = { name: 'test_service', password: 'test' };

/** Milliseconds that no busy machine reaches: a case that tests a limit of the database gives its own. */
export const PATIENT: DatabaseLimits = Object.fromEntries(
  Object.entries(DATABASE_LIMITS).map(([limit, milliseconds]) => [limit, 20 * milliseconds]),
);

/** Opens one more database, of another process as it were, with limits that no busy machine reaches. */
export const createPatientDatabase = (options: DatabaseOptions) =>
  createDatabase({ ...options, limits: PATIENT });

/**
 * @returns an open database of its own, and its connection string, both of the owner of its tables; `serviceUrl` of the
 *   role that api and worker connect as; and `drop`, to be called when the tests have ended
 * @param schemas the search path of all these connections, for a clock of the test's own
 */
export async function createTestDatabase(schemas?: string) {
  const admin = inject('databaseUrl');
  const name = newName();
  const client = new pg.Client({ connectionString: admin });
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [
      `${TEMPLATE}_ready`,
    ]);
    if (rowCount === 0) {
      await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE}`);
      await client.query(`CREATE DATABASE ${TEMPLATE}`);
      await migrate(urlOf(admin, TEMPLATE));
      await beginAuditLog(urlOf(admin, TEMPLATE));
      await grantServiceRole(urlOf(admin, TEMPLATE), SERVICE_ROLE);
      await dropLastDay(urlOf(admin, TEMPLATE));
      await client.query(`ALTER DATABASE ${TEMPLATE} RENAME TO ${TEMPLATE}_ready`);
    }
    return await openDatabase(client, { admin, name, template: `${TEMPLATE}_ready`, schemas });
  } finally {
    await client.end();
  }
}

/** The same without any table. */
export async function createEmptyDatabase() {
  const admin = inject('databaseUrl');
  const client = new pg.Client({ connectionString: admin });
  await client.connect();
  try {
    return await openDatabase(client, { admin, name: newName(), template: 'template1' });
  } finally {
    await client.end();
  }
}

async function beginAuditLog(url: string): Promise<void> {
  const database = createPatientDatabase({ url, pool: 1, applicationName: 'test' });
  const report = await new AuditBeginning({
    database,
    auditKeys: AUDIT_KEYS,
    tenants: { any: async () => false },
  }).begin();
  await database.close();
  if (report.result !== 'began') throw new Error(`the audit log did not begin: ${report.result}`);
}

/** A run that passes midnight clones what was made the day before: so no test may rely on the last day's partitions. */
async function dropLastDay(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    DO $$
    BEGIN
      EXECUTE (SELECT 'DROP TABLE ' || string_agg(child, ', ')
               FROM (SELECT max(inhrelid::regclass::text) AS child FROM pg_inherits
                     WHERE inhrelid::regclass::text ~ '_[0-9]{8}$' GROUP BY inhparent) AS last);
    END $$`);
  await client.end();
}

async function openDatabase(
  client: pg.Client,
  {
    admin,
    name,
    template,
    schemas,
  }: {
    readonly admin: string;
    readonly name: string;
    readonly template: string;
    readonly schemas?: string | undefined;
  },
) {
  // The other strategy writes all of it to the log of Postgres, too.
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  const url = schemas === undefined ? urlOf(admin, name) : withSchemas(urlOf(admin, name), schemas);
  const database = createPatientDatabase({ url, pool: 10, applicationName: 'test' });
  return {
    database,
    url,
    serviceUrl: withRole(url),
    drop: async () => {
      await database.close();
      const last = new pg.Client({ connectionString: admin });
      await last.connect();
      await last.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      await last.end();
    },
  };
}

const newName = () => `test_${randomUUID().replaceAll('-', '')}`;
/** The same for a whole test file: it is dropped after the last test. */
export async function useTestDatabase(schemas?: string) {
  const test = await createTestDatabase(schemas);
  afterAll(test.drop);
  return test;
}

/** The address with another search path. */
export function withSchemas(address: string, schemas: string): string {
  const url = new URL(address);
  url.searchParams.set('options', `-c search_path=${schemas}`);
  return url.href;
}

function withRole(owner: string): string {
  const url = new URL(owner);
  url.username = SERVICE_ROLE.name;
  url.password = SERVICE_ROLE.password;
  return url.href;
}

function urlOf(admin: string, name: string): string {
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return url.href;
}
