// What breaks each invariant of the list, as SQL, and what makes it whole again.
import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { insertEnded } from '../../authentication/challenges/ended-challenges.ts';
import { createPatientDatabase } from '../../setup/database.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';
import { openForeignTransaction } from '../../webhooks/intake/foreign-transaction.ts';

/** Before the catalogue in the search path: views by which a test says what the cluster says. */
export const PLANTED_SCHEMA = 'planted,pg_catalog,public';

export const CREATE_PLANTED = `
CREATE SCHEMA planted;
CREATE TABLE planted.said AS SELECT interval '0' AS open_for, 'off' AS archive_mode;
CREATE VIEW planted.pg_stat_activity AS
  SELECT datid, datname, pid, usesysid, usename, application_name, backend_start, backend_type, backend_xid,
    xact_start - open_for AS xact_start
  FROM pg_catalog.pg_stat_activity, planted.said;
CREATE VIEW planted.pg_stat_archiver AS
  SELECT 9::bigint AS archived_count, '000000010000000000000008'::text AS last_archived_wal, now() - interval '90 seconds' AS last_archived_time,
    1::bigint AS failed_count, '000000010000000000000009'::text AS last_failed_wal, now() - interval '9 seconds' AS last_failed_time,
    now() - interval '1 day' AS stats_reset;
CREATE FUNCTION planted.current_setting(name text) RETURNS text LANGUAGE sql STABLE
  AS $$ SELECT CASE name WHEN 'archive_mode' THEN archive_mode ELSE pg_catalog.current_setting(name) END FROM planted.said $$`;

const CLEAN = [
  'outbox',
  'crowded_deliveries',
  'deliveries',
  'endpoints',
  'subscriptions',
  'workflow_commands',
  'key_rotations',
  'anchors',
  'delegations',
  'agent_keys',
  'agents',
  'issuer_keys',
  'tenant_ends',
  'challenges',
  'delivery_accounts',
  'delivery_account_days',
];

export type Place = { database: Database; context: RequestContext; url: string };
/** @returns what has to be undone by hand */
type Plant = (place: Place) => Promise<undefined | (() => Promise<unknown>)>;

const sql =
  (...texts: string[]): Plant =>
  async ({ database, context }) => {
    for (const text of texts) await database.query(text.replaceAll('$tenant', `'${context.tenant.id}'`));
    return undefined;
  };

const minutes = (count: number) => `now() - interval '${count} minutes'`;

/** A delivery and its endpoint. @param options.endpoint what the endpoint is set to; `text` SQL that follows */
const delivery =
  (row: Record<string, string>, { endpoint = 'active = true', text = '' } = {}): Plant =>
  async ({ database, context }) => {
    const subscription = await insertSubscription(database, context, { filters: [] });
    const id = newId();
    const given = { status: `'retrying'`, ...row };
    await database.query(
      `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, ${Object.keys(given)})
       VALUES ($1, $2, $3, $4, 'e', 't', ${Object.values(given)})`,
      [id, context.tenant.id, subscription, newId()],
    );
    await database.query(`UPDATE endpoints SET ${endpoint} WHERE subscription_id = '${subscription}'`);
    const names = { $delivery: id, $endpoint: subscription, $tenant: context.tenant.id, $row: newId() };
    const named = Object.entries(names).reduce(
      (left, [name, value]) => left.replaceAll(name, `'${value}'`),
      text,
    );
    if (named !== '') await database.query(named);
    return undefined;
  };

const outbox = (columns: string, values: string) =>
  `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, ${columns}) VALUES ($row, $tenant, $endpoint, $delivery, ${values})`;

const agent = `INSERT INTO agents (id, tenant_id, name, scopes) VALUES ('00000000-0000-7000-8000-000000000001', $tenant, 'a', '{}')`;
const OF_AGENT = `'00000000-0000-7000-8000-000000000001'`;

const silently = (table: string, text: string) =>
  `ALTER TABLE ${table} DISABLE TRIGGER USER; ${text}; ALTER TABLE ${table} ENABLE TRIGGER USER`;

const account = (stranded: number) =>
  sql(`INSERT INTO delivery_accounts (tenant_id, day, accepted, delivered, waiting, held, failed, canceled, stranded)
    VALUES ($tenant, now() AT TIME ZONE 'UTC', 3, 1, 0, 0, 0, 0, ${stranded})`);

export const PLANTS: Readonly<Record<string, Plant>> = {
  partition_missing: async ({ database }) => {
    const { rows } = await database.query<{ name: string }>(
      `SELECT 'deliveries_' || to_char((now() AT TIME ZONE 'UTC')::date + 1, 'YYYYMMDD') AS name`,
    );
    await database.query(`DROP TABLE ${rows[0]?.name}`);
    return undefined;
  },
  delivery_not_canceled: delivery({}, { endpoint: `deleted = true, updated_at = ${minutes(6)}` }),
  work_not_removed: delivery(
    { status: `'delivered'` },
    { endpoint: `deleted = true, updated_at = ${minutes(6)}`, text: outbox('kind', `'first'`) },
  ),
  delivery_not_woken: delivery({ started_generation: '0', waiting_epoch: '1' }),
  crowd_overdue: delivery(
    { next_attempt_at: minutes(6) },
    {
      text: `INSERT INTO crowded_deliveries (delivery_id, tenant_id, subscription_id, generation, due_at)
        VALUES ($delivery, $tenant, $endpoint, 0, ${minutes(6)})`,
    },
  ),
  delivery_overdue: delivery({ started_generation: '0', next_attempt_at: minutes(6) }),
  relay_lag: delivery(
    { status: `'pending'` },
    { text: outbox('kind, created_at', `'first', ${minutes(2)}`) },
  ),
  intent_stuck: delivery(
    {},
    { text: outbox('kind, command, created_at', `'command', 'retry', ${minutes(6)}`) },
  ),
  claim_dead: delivery(
    { status: `'pending'` },
    {
      text: outbox(
        'kind, created_at, claimed_by, claim_epoch',
        `'first', ${minutes(2)}, '${randomUUID()}', 1`,
      ),
    },
  ),
  command_stuck: sql(
    `INSERT INTO workflow_commands (tenant_id, workflow, entity_id, created_at) VALUES ($tenant, 'bulkReplay', '${randomUUID()}', ${minutes(6)})`,
  ),
  agent_key_rotation_overdue: sql(
    agent,
    `INSERT INTO agent_keys (id, tenant_id, agent_id, algorithm, public_key, fingerprint, jwk_thumbprint, state, sunset_at)
     VALUES ('${newId()}', $tenant, ${OF_AGENT}, 'ed25519', '\\x00', repeat('a', 64), 't', 'deprecated', ${minutes(6)})`,
  ),
  anchor_verification_overdue: sql(
    agent,
    `INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, expires_at, next_check_at)
     VALUES ('${newId()}', $tenant, ${OF_AGENT}, 'domain_dns', 'a.example', 'p', now() + interval '1 day', ${minutes(6)})`,
  ),
  delegation_expiry_overdue: sql(
    agent,
    `INSERT INTO delegations (id, tenant_id, agent_id, user_id, scopes, expires_at) VALUES ('${newId()}', $tenant, ${OF_AGENT}, '${newId()}', '{}', ${minutes(6)})`,
  ),
  issuer_key_rotation_overdue: sql(
    `INSERT INTO issuer_keys (id, kid, tenant_id, algorithm, public_jwk, activate_at)
     VALUES ('${newId()}', 'k', $tenant, 'ES256', '{}', ${minutes(6)})`,
  ),
  tenant_erasure_overdue: sql(
    `INSERT INTO tenant_ends (tenant_id, erase_at, was_suspended) VALUES ($tenant, ${minutes(6)}, false)`,
  ),
  webhook_secret_rotation_overdue: async (place) => {
    const id = await insertSubscription(place.database, place.context, { filters: [] });
    return sql(
      `UPDATE subscriptions SET next_secret_sealed = '\\x01', secret_overlap_ends_at = ${minutes(6)} WHERE id = '${id}'`,
    )(place);
  },
  sweep_behind: async ({ database, context }) => {
    await insertEnded(database, context.tenant.id, { count: 2, seconds: 400 });
    return undefined;
  },
  deliveries_lost: account(0),
  deliveries_stranded: account(2),
  deliveries_not_counted: sql(
    `INSERT INTO delivery_account_days (day, counted_at, took_ms) VALUES (now(), ${minutes(130)}, 1)`,
  ),
  audit_not_sealed: async ({ database, context }) => {
    const row = `INSERT INTO audit_log (id, tenant_id, occurred_at, action, outcome, actor_kind)
      VALUES ('${newId()}', '${context.tenant.id}', ${minutes(3)}, 'x', 'success', 'service')`;
    await database.query(silently('audit_log', row));
    return () => database.query(silently('audit_log', 'DELETE FROM audit_log'));
  },
  transaction_open: async ({ database }) => {
    const close = await openForeignTransaction();
    await database.query(`UPDATE planted.said SET open_for = interval '2 minutes'`);
    return async () => {
      await database.query(`UPDATE planted.said SET open_for = interval '0'`);
      await close();
    };
  },
  transaction_ids_behind: async ({ database }) => {
    const head = (xid: string) => silently('audit_head', `UPDATE audit_head SET last_xid = ${xid}`);
    const { rows } = await database.query<{ xid: string }>('SELECT last_xid::text AS xid FROM audit_head');
    await database.query(head(`(pg_current_xact_id()::text::bigint + 1000000)::text::xid8`));
    return () => database.query(head(`'${rows[0]?.xid}'`));
  },
  wal_not_archived: async ({ database }) => {
    await database.query(`UPDATE planted.said SET archive_mode = 'on'`);
    return () => database.query(`UPDATE planted.said SET archive_mode = 'off'`);
  },
  database_role_too_strong: async ({ url }) => {
    const api = createPatientDatabase({ url, pool: 1, applicationName: 'countersign api' });
    await api.query('SELECT 1');
    return () => api.close();
  },
  master_key_missing: async (place) => {
    const id = await insertSubscription(place.database, place.context, { filters: [] });
    return sql(`UPDATE subscriptions SET secret_sealed = '\\x01036b6579ffff' WHERE id = '${id}'`)(place);
  },
};

/** Removes the rows of all plants. */
export async function clean({ database }: Place): Promise<void> {
  for (const table of CLEAN) await database.query(`DELETE FROM ${table}`);
}
