// What holds for every migration from 0.2.0 on: it is never edited, it takes nothing away, and it takes a
// database with rows.
import { createHash } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { migrate } from '../../../src/platform/database/migrate.ts';
import { MIGRATIONS } from '../../../src/platform/database/migrations.ts';
import { createEmptyDatabase } from '../../setup/database.ts';
import { findDestruction } from './destructive-statement.ts';

const FOLDER = new URL('../../../src/platform/database/migrations/', import.meta.url);
const SUMS = new URL('SHA256SUMS', FOLDER);

/** The schema of 0.2.0, and what came after it. */
const [first, ...later] = MIGRATIONS;
const INITIAL = [first].filter((migration) => migration !== undefined);

describe('a migration file', () => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith('.ts'));

  it('is in the list once, in the order of the numbers', () => {
    expect(MIGRATIONS.map(({ name }) => `${name}.ts`)).toEqual(files.sort());
  });

  it('is as it was when it was committed', () => {
    const sums = new Map<string, string>();
    for (const line of readFileSync(SUMS, 'utf8').split('\n').filter(Boolean)) {
      const [sum = '', file = ''] = line.split('  ');
      sums.set(file, sum);
    }
    const today = new Map(
      files.map((file) => [
        file,
        createHash('sha256')
          .update(readFileSync(new URL(file, FOLDER)))
          .digest('hex'),
      ]),
    );
    const unlisted = [...today].filter(([file]) => !sums.has(file)).map(([file, sum]) => `${sum}  ${file}\n`);
    if (process.env.RECORD_MIGRATIONS === '1') appendFileSync(SUMS, unlisted.join(''));
    else
      expect(
        unlisted,
        'new: RECORD_MIGRATIONS=1 npx vitest run test/platform/database/migrations.test.ts',
      ).toEqual([]);
    for (const [file, sum] of sums)
      expect(today.get(file), `${file} was edited or removed: write a later migration instead`).toBe(sum);
  });
});

describe('a later migration', () => {
  it('takes nothing away that the former version reads or writes', () => {
    for (const { name, steps } of later)
      for (const step of steps)
        if (typeof step === 'string') expect(findDestruction(step), name).toBeUndefined();
  });

  it.each([
    'DROP TABLE relays',
    'ALTER TABLE agents DROP COLUMN description',
    'ALTER TABLE agents DROP description',
    'alter table agents drop column if exists description',
    'DROP VIEW anchor_records',
    'DROP FUNCTION host_name(text)',
    'ALTER TABLE agents ALTER COLUMN status DROP DEFAULT',
    'ALTER TABLE agents RENAME COLUMN name TO title',
    'ALTER TABLE agents RENAME TO robots',
    'ALTER TABLE agents ALTER COLUMN name TYPE varchar(10)',
    'ALTER TABLE agents ALTER name SET DATA TYPE varchar(10)',
    'ALTER TABLE agents ALTER COLUMN description SET NOT NULL',
    'ALTER TABLE agents ADD COLUMN household uuid NOT NULL',
    'ALTER TABLE agents ADD COLUMN one text, ADD two uuid NOT NULL REFERENCES tenants, ADD COLUMN three integer DEFAULT 0',
    "ALTER TABLE agents ADD COLUMN one text CHECK (one IN ('DEFAULT', 'b')) NOT NULL",
    'DELETE FROM audit_log',
    'WITH gone AS (DELETE FROM relays RETURNING instance) SELECT 1 FROM gone',
    'TRUNCATE relays',
    'DO $do$ BEGIN DROP TABLE relays; END $do$',
    'CREATE TABLE one (n int); -- a comment; \nDROP TABLE relays',
  ])('is refused: %s', (sql) => {
    expect(findDestruction(sql)).toBeDefined();
  });

  it.each([
    '-- DROP TABLE relays\nSELECT 1',
    "INSERT INTO tenants (slug) VALUES ('DROP TABLE relays')",
    'CREATE TABLE one (n int NOT NULL, dropped boolean NOT NULL, type text NOT NULL)',
    'ALTER TABLE agents ADD COLUMN owner uuid',
    "ALTER TABLE agents ADD COLUMN owner text NOT NULL DEFAULT ''",
    "ALTER TABLE agents ALTER COLUMN description SET DEFAULT '', ALTER COLUMN description SET NOT NULL",
    'ALTER TABLE agents ADD COLUMN twice integer NOT NULL GENERATED ALWAYS AS (1 + 1) STORED',
    'ALTER TABLE agents ADD CONSTRAINT named CHECK (name IS NOT NULL) NOT VALID',
    'ALTER TABLE agents DROP CONSTRAINT agents_status_check',
    'CREATE TRIGGER stays BEFORE DELETE OR TRUNCATE ON one FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()',
    'ALTER TABLE issuer_keys ALTER COLUMN retire_at DROP NOT NULL',
    'DROP INDEX CONCURRENTLY agents_by_tenant',
    'CREATE FUNCTION clean() RETURNS void LANGUAGE sql AS $function$ DELETE FROM relays $function$',
  ])('is accepted: %s', (sql) => {
    expect(findDestruction(sql)).toBeUndefined();
  });
});

describe('a database of 0.2.0', () => {
  let database: Database;
  let url: string;
  let drop: () => Promise<void>;
  beforeEach(async () => {
    ({ database, url, drop } = await createEmptyDatabase());
  });
  afterEach(() => drop());

  it('keeps its rows, and takes what 0.2.0 writes', async () => {
    expect(await migrate(url, undefined, INITIAL)).toEqual(INITIAL.map(({ name }) => name));
    await insertRows(database, 'before');
    const before = await readRows(database);
    expect(before.size).toBeGreaterThan(15);
    expect(await migrate(url)).toEqual(later.map(({ name }) => name));
    const after = await readRows(database);
    for (const [table, rows] of before) {
      const columns = Object.keys(rows[0] ?? {});
      const kept = (after.get(table) ?? []).map((row) =>
        Object.fromEntries(columns.map((column) => [column, row[column]])),
      );
      expect(kept, table).toEqual(expect.arrayContaining([...rows]));
    }
    await insertRows(database, 'after');
  });

  it('does not take a migration that its rows do not fit', async () => {
    await migrate(url, undefined, INITIAL);
    await insertRows(database, 'before');
    const steps = ['ALTER TABLE agents ADD COLUMN household uuid NOT NULL'];
    await expect(migrate(url, undefined, [...MIGRATIONS, { name: '9001-wrong', steps }])).rejects.toThrow(
      'contains null values',
    );
    await insertRows(database, 'after');
  });
});

type Row = Readonly<Record<string, unknown>>;

/** The rows of all tables that have some; a partition's are its table's. */
async function readRows(database: Database): Promise<Map<string, Row[]>> {
  const { rows: tables } = await database.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition AND relname <> 'schema_migrations'`,
  );
  const all = new Map<string, Row[]>();
  for (const { name } of tables) {
    const { rows } = await database.query<{ row: Row }>(`SELECT to_jsonb(t) AS row FROM ${name} t`);
    if (rows.length > 0)
      all.set(
        name,
        rows.map(({ row }) => row),
      );
  }
  return all;
}

/**
 * A tenant with something in most tables. The columns are those that 0.2.0 writes: this text is never made
 * to fit a migration.
 */
async function insertRows(database: Database, slug: string): Promise<void> {
  const [tenant, agent, oldKey, newKey, user, subscription, event] = Array.from({ length: 7 }, newId);
  const say = (text: string, ...values: unknown[]) => database.query(text, values);
  await say(
    `INSERT INTO tenants (id, slug, name, signing_algorithm, base_url, issuer_url) VALUES ($1, $2, 'T', 'ES256', $2, $2)`,
    ...[tenant, slug],
  );
  await say(
    `INSERT INTO issuer_keys (id, kid, tenant_id, algorithm, public_jwk, private_sealed, created_at, activate_at)
     VALUES ($1, $2, $3, 'ES256', '{}', '\\x01', now(), now())`,
    ...[newId(), slug, tenant],
  );
  await say(
    `INSERT INTO agents (id, tenant_id, name, scopes) VALUES ($1, $2, 'Robot', '{openid}')`,
    agent,
    tenant,
  );
  for (const key of [oldKey, newKey])
    await say(
      `INSERT INTO agent_keys (id, tenant_id, agent_id, algorithm, public_key, fingerprint, aliases)
       VALUES ($1::uuid, $2, $3, 'ed25519', '\\x00', encode(sha256($1::text::bytea), 'hex'), '{}')`,
      ...[key, tenant, agent],
    );
  await say(
    `INSERT INTO key_rotations (id, tenant_id, agent_id, old_key_id, new_key_id, state, overlap_seconds, deadline_at)
     VALUES ($1, $2, $3, $4, $5, 'waiting_for_switch', 60, now())`,
    ...[newId(), tenant, agent, oldKey, newKey],
  );
  await say(
    `INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, created_at, expires_at, next_check_at)
     VALUES ($1, $2, $3, 'domain_dns', 'acme.example', 'x', now(), now(), now())`,
    ...[newId(), tenant, agent],
  );
  await say(
    `INSERT INTO users (id, tenant_id, digest, name, key_sealed) VALUES ($1, $2, 'd', '\\x00', '\\x00')`,
    ...[user, tenant],
  );
  await say(
    `INSERT INTO delegations (id, tenant_id, agent_id, user_id, scopes, expires_at) VALUES ($1, $2, $3, $4, '{openid}', now())`,
    ...[newId(), tenant, agent, user],
  );
  await say(
    `INSERT INTO challenges (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, created_at, expires_at)
     VALUES ($1, $2, $3, $4, 'f', 'ed25519', '\\x00', 'a', '{}', now(), now())`,
    ...[newId(), tenant, agent, oldKey],
  );
  await say(
    `INSERT INTO refresh_tokens (id, tenant_id, family_id, agent_id, key_id, hash, client_id, scopes, audience, family_expires_at)
     VALUES ($1::uuid, $2, $1, $3, $4, sha256($1::text::bytea), 'c', '{}', 'a', now())`,
    ...[newId(), tenant, agent, oldKey],
  );
  await say(
    'INSERT INTO revocations (tenant_id, token_id, expires_at) VALUES ($1, $2, now())',
    tenant,
    newId(),
  );
  await say(
    `INSERT INTO audit_log (id, tenant_id, action, outcome, actor_kind) VALUES ($1, $2, 'agent.created', 'success', 'operator')`,
    ...[newId(), tenant],
  );
  await say(
    `INSERT INTO operator_acts (n, operator, action, target_type, target_id, reason, tenants)
     SELECT n + 1, 'me', 'tenant.suspended', 'tenant', $1, 'why', 1 FROM operator_act_head`,
    tenant,
  );
  await say(
    `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
     VALUES ($1, $2, 'https://r.example', 'r.example', '{a.b}', '{a.b}', 'standard', '\\x00')`,
    ...[subscription, tenant],
  );
  await say('INSERT INTO endpoints (subscription_id, tenant_id) VALUES ($1, $2)', subscription, tenant);
  await say(
    `INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body, deliveries) VALUES ($1, $2, 'e', 'a.b', now(), '{}', 1)`,
    ...[event, tenant],
  );
  await say(
    `INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type)
     VALUES (delivery_id_of($1, $2), $3, $2, $1, 'e', 'a.b')`,
    ...[event, subscription, tenant],
  );
  await say(
    `INSERT INTO attempts (delivery_id, n, tenant_id, subscription_id, generation, started_at, duration_ms, outcome)
     VALUES (delivery_id_of($1, $2), 1, $3, $2, 0, now(), 1, 'retry')`,
    ...[event, subscription, tenant],
  );
  await say(
    `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind) VALUES ($4, $3, $2, delivery_id_of($1, $2), 'first')`,
    ...[event, subscription, tenant, newId()],
  );
  await say(
    `INSERT INTO workflow_commands (tenant_id, workflow, entity_id) VALUES ($1, 'issuerKeyRotation', $1)`,
    tenant,
  );
}
