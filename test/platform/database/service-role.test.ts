// The role of api and worker: what it may not do to the database, and that a migration grants it the same again and
// again.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/platform/database/database.ts';
import { migrate } from '../../../src/platform/database/migrate.ts';
import { MIGRATIONS } from '../../../src/platform/database/migrations.ts';
import {
  dropPartition,
  ensurePartitions,
  listOldPartitions,
} from '../../../src/platform/database/partitions.ts';
import { grantServiceRole } from '../../../src/platform/database/service-role.ts';
import {
  createEmptyDatabase,
  createPatientDatabase,
  SERVICE_ROLE,
  useTestDatabase,
} from '../../setup/database.ts';
import { createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';

const { database: owner, url, serviceUrl } = await useTestDatabase();
// A database that was cloned from another has no rights of its own.
await grantServiceRole(url, SERVICE_ROLE);
const service = createPatientDatabase({ url: serviceUrl, pool: 2, applicationName: 'service' });
afterAll(() => service.close());

const DENIED = { code: '42501' };
const APPEND_ONLY = [
  'audit_log',
  'audit_checkpoints',
  'audit_seals',
  'audit_signing_keys',
  'operator_acts',
] as const;

const addRow = (tenant = 'gen_random_uuid()') =>
  service.query(
    `INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind) VALUES (gen_random_uuid(), ${tenant}, 'a', 'success', 'system')`,
  );

describe('the role of api and worker', () => {
  it('adds to the audit log and reads it', async () => {
    await addRow();
    expect((await service.query('SELECT 1 FROM audit_log')).rowCount).toBeGreaterThan(0);
  });

  it.each(APPEND_ONLY)('changes, removes and cuts nothing of %s', async (table) => {
    await addRow();
    const column = table === 'audit_log' ? 'action' : table === 'operator_acts' ? 'reason' : 'key_id';
    const set = table === 'audit_signing_keys' ? "id = 'x'" : `${column} = 'x'`;
    for (const statement of [
      `UPDATE ${table} SET ${set}`,
      `DELETE FROM ${table}`,
      `TRUNCATE ${table}`,
      `SELECT 1 FROM ${table} FOR UPDATE`,
      `INSERT INTO ${table} SELECT * FROM ${table} ON CONFLICT DO UPDATE SET ${set}`,
    ])
      await expect(service.query(statement), statement).rejects.toMatchObject({
        code: expect.stringMatching(/^42501$|^42601$/),
      });
  });

  it('takes no row away from the heads of audit log and operator acts', async () => {
    for (const statement of ['DELETE FROM audit_head', 'TRUNCATE audit_head, operator_act_head'])
      await expect(service.query(statement), statement).rejects.toMatchObject(DENIED);
  });

  it.each([
    'ALTER TABLE audit_log DISABLE TRIGGER ALL',
    'ALTER TABLE agents ADD COLUMN more text',
    'ALTER TABLE audit_log OWNER TO CURRENT_USER',
    'DROP TABLE idempotency_keys',
    'DROP TRIGGER audit_log_append_only ON audit_log',
    'CREATE TABLE own (id int)',
    'CREATE TEMPORARY TABLE own (id int)',
    'CREATE SCHEMA own',
    'CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$',
    "CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    'CREATE INDEX own ON agents (id)',
    'CREATE TRIGGER own BEFORE INSERT ON agents FOR EACH ROW EXECUTE FUNCTION refuse_change()',
    "INSERT INTO schema_migrations (name) VALUES ('x')",
    'DELETE FROM schema_migrations',
    'DELETE FROM subscription_filters',
    "SET session_replication_role = 'replica'",
    'GRANT SELECT ON agents TO PUBLIC',
    'TRUNCATE agents',
    'CREATE ROLE other',
  ])('is refused: %s', async (statement) => {
    const { rowCount } = await owner.query(`SELECT FROM pg_tables WHERE tableowner = $1`, [
      SERVICE_ROLE.name,
    ]);
    expect(rowCount).toBe(0);
    if (statement.startsWith('GRANT')) {
      // A grant of what one does not have to give is a warning.
      await service.query(statement).catch(() => undefined);
      const granted = await owner.query<{ has: boolean }>(
        `SELECT EXISTS (SELECT FROM information_schema.table_privileges WHERE table_name = 'agents' AND grantee = 'PUBLIC') AS has`,
      );
      expect(granted.rows).toEqual([{ has: false }]);
    } else await expect(service.query(statement)).rejects.toMatchObject(DENIED);
  });

  it('keeps the filters of subscriptions, even before a migration has granted it the table of filters', async () => {
    await owner.query(`REVOKE ALL ON subscription_filters FROM ${SERVICE_ROLE.name}`);
    const id = await insertSubscription(service, await createTenantContext(service), { filters: ['org.*'] });
    await service.query("UPDATE subscriptions SET filters = '{org.created,*}' WHERE id = $1", [id]);
    const { rows } = await owner.query(
      'SELECT filter FROM subscription_filters WHERE subscription_id = $1 ORDER BY filter',
      [id],
    );
    expect(rows).toEqual([{ filter: '*' }, { filter: 'org.created' }]);
    await grantServiceRole(url, SERVICE_ROLE);
  });

  it('makes and drops days of events, deliveries and attempts, and of no other table', async () => {
    await owner.query(`SELECT ensure_day_partition('events', '2020-01-01')`);
    const [old] = await listOldPartitions(service, 30);
    expect(old).toMatchObject({ parent: 'events', day: '2020-01-01' });
    if (old !== undefined) expect(await dropPartition(service, old)).toBe('dropped');
    await ensurePartitions(service);
    await owner.query(
      `DO $$ BEGIN EXECUTE 'DROP TABLE deliveries_' || to_char((now() AT TIME ZONE 'UTC')::date + 5, 'YYYYMMDD'); END $$`,
    );
    expect(await ensurePartitions(service)).toBe(1);
    for (const call of [
      `keep_day_partition('ensure', 'audit_log', '2020-01-01')`,
      `keep_day_partition('drop', 'audit_log', '2020-01-01')`,
      `keep_day_partition('detach', NULL, '2020-01-01')`,
    ])
      await expect(service.query(`SELECT ${call}`), call).rejects.toMatchObject(DENIED);
    await expect(service.query(`SELECT ensure_day_partition('events', '2020-01-01')`)).rejects.toMatchObject(
      DENIED,
    );
  });
});

describe('the role beside an owner that is no superuser', () => {
  it("renews the planner's statistics of the owner's tables, also of one that is empty", async () => {
    const empty = await createEmptyDatabase();
    const name = `owner_${randomBytes(6).toString('hex')}`;
    await empty.database.query(`CREATE ROLE ${name} LOGIN PASSWORD 'test'`);
    await empty.database.query(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO ${name}', current_database()); END $$`,
    );
    const urlOf = (role: string) =>
      Object.assign(new URL(empty.url), { username: role, password: 'test' }).href;
    await migrate(urlOf(name));
    await grantServiceRole(urlOf(name), { name: SERVICE_ROLE.name });
    const role = createPatientDatabase({
      url: urlOf(SERVICE_ROLE.name),
      pool: 1,
      applicationName: 'service',
    });
    const count = async () =>
      (
        await empty.database.query(
          `SELECT 1 FROM pg_stats WHERE tablename = 'idempotency_keys' AND num_nonnulls(most_common_vals, histogram_bounds) > 0`,
        )
      ).rowCount;
    try {
      await role.query(
        `INSERT INTO idempotency_keys (tenant_id, principal, route, key, request_digest, status, headers)
         SELECT gen_random_uuid(), 'x', 'x', key, '\\x00', 201, '{}' FROM unnest('{first,second}'::text[]) AS key`,
      );
      await empty.database.query('ANALYZE');
      await role.query('DELETE FROM idempotency_keys');
      await empty.database.query('ANALYZE');
      expect(await count()).toBeGreaterThan(0);
      await role.query("SELECT renew_statistics('idempotency_keys'::regclass)");
      expect(await count()).toBe(0);
    } finally {
      await role.close();
      await empty.drop();
      await owner.query(`DROP ROLE ${name}`);
    }
  });
});

const rightsOf = async (database: Database) =>
  (
    await database.query(
      `SELECT table_name AS "table", string_agg(privilege_type, ' ' ORDER BY privilege_type) AS rights
       FROM information_schema.table_privileges WHERE grantee = $1 GROUP BY 1 ORDER BY 1`,
      [SERVICE_ROLE.name],
    )
  ).rows as { table: string; rights: string }[];

describe('granting', () => {
  it('is the same when it is repeated, and takes back what somebody has given beyond', async () => {
    const before = await rightsOf(owner);
    expect(before).toContainEqual({ table: 'audit_log', rights: 'INSERT SELECT' });
    expect(before).toContainEqual({ table: 'agents', rights: 'DELETE INSERT SELECT UPDATE' });
    expect(before).toContainEqual({ table: 'audit_head', rights: 'INSERT SELECT UPDATE' });
    await owner.query(`GRANT ALL ON audit_log, agents, schema_migrations TO ${SERVICE_ROLE.name}`);
    await owner.query('GRANT UPDATE ON audit_log TO PUBLIC');
    await Promise.all([grantServiceRole(url, SERVICE_ROLE), grantServiceRole(url, SERVICE_ROLE)]);
    expect(await rightsOf(owner)).toEqual(before);
    await expect(service.query("UPDATE audit_log SET action = 'x'")).rejects.toMatchObject(DENIED);
  });

  it('reaches a table that a later migration adds, once it is repeated', async () => {
    const later = [...MIGRATIONS, { name: '9001-later', steps: ['CREATE TABLE later_rows (n int)'] }];
    expect(await migrate(url, undefined, later)).toEqual(['9001-later']);
    const before = await rightsOf(owner);
    await grantServiceRole(url, SERVICE_ROLE);
    const added = { table: 'later_rows', rights: 'DELETE INSERT SELECT UPDATE' };
    expect(await rightsOf(owner)).toEqual(expect.arrayContaining([...before, added]));
    expect(before).not.toContainEqual(added);
    await owner.query('DROP TABLE later_rows');
  });

  it('refuses a role that is missing, that is a superuser, or that owns the tables', async () => {
    const name = 'test_service_missing';
    await expect(grantServiceRole(url, { name })).rejects.toThrow(/^DATABASE_ROLE: there is no role/);
    await expect(grantServiceRole(url, { name: 'countersign' })).rejects.toThrow(
      /^DATABASE_ROLE: countersign is a superuser/,
    );
    await owner.query('CREATE ROLE test_service_owner');
    await owner.query('ALTER TABLE rate_limits OWNER TO test_service_owner');
    await expect(grantServiceRole(url, { name: 'test_service_owner' })).rejects.toThrow(/owns tables/);
    await owner.query('ALTER TABLE rate_limits OWNER TO CURRENT_USER');
    await owner.query('DROP ROLE test_service_owner');
  });

  it('makes a role with its password, and changes the password', async () => {
    const name = 'test service "made"';
    const open = async (password: string) => {
      const client = new pg.Client(
        serviceUrl.replace(/\/\/[^@]+@/, `//${encodeURIComponent(name)}:${encodeURIComponent(password)}@`),
      );
      await client.connect();
      await client.query('SELECT 1 FROM agents');
      await client.end();
    };
    await grantServiceRole(url, { name, password: "it's" });
    await open("it's");
    await grantServiceRole(url, { name, password: 'another' });
    await open('another');
    await expect(open("it's")).rejects.toMatchObject({ code: '28P01' });
    await owner.query(`DROP OWNED BY "test service ""made"""`);
    await owner.query(`DROP ROLE "test service ""made"""`);
  });
});
