// Rows that were written some hours ago, one of each kind that retention purges.
import { randomBytes, randomUUID } from 'node:crypto';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';

async function insertApplication(database: Database, tenantId: string): Promise<string> {
  const id = newId();
  await database.query(
    `INSERT INTO applications (id, tenant_id, name, scopes, grant_types) VALUES ($1, $2, 'console', '{}', '{}')`,
    [id, tenantId],
  );
  return id;
}

/**
 * By the name of the purge: inserts a row whose time was over so many hours ago; `hours`: one that is kept still, and
 * one that goes.
 */
export const OLD_ROWS: Readonly<
  Record<
    string,
    {
      table: string;
      hours: readonly [kept: number, removed: number];
      insert: (hours: number, at: Place) => Promise<unknown>;
    }
  >
> = {
  'deliveries of tenants': {
    table: 'deliveries',
    hours: [3 * 24 - 2, 4 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `WITH kept AS (UPDATE tenants SET deliveries_days = 3 WHERE id = $2)
         INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, status)
         VALUES ($1, $2, $1, $1, '', 'wallet.tx.signed', 'delivered')`.replaceAll(
          '$1',
          `uuid_of_time(${ago('$1')})`,
        ),
        [hours, context.tenant.id],
      ),
  },
  'events of tenants': {
    table: 'events',
    hours: [3 * 24 - 2, 4 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `WITH kept AS (UPDATE tenants SET deliveries_days = 3, events_days = 3 WHERE id = $2)
         INSERT INTO events (id, tenant_id, event_id, type, occurred_at, body)
         VALUES (uuid_of_time(${ago('$1')}), $2, gen_random_uuid()::text, 'wallet.tx.signed', now(), '')`,
        [hours, context.tenant.id],
      ),
  },
  'addresses in the audit log': {
    table: 'audit_log WHERE client_address IS NOT NULL',
    hours: [3 * 24 - 2, 3 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `WITH kept AS (UPDATE tenants SET audit_addresses_days = 3 WHERE id = $2)
         INSERT INTO audit_log (id, tenant_id, occurred_at, action, outcome, actor_kind, client_address)
         VALUES (uuid_of_time(${ago('$1')}), $2, ${ago('$1')}, 'agent.created', 'success', 'agent', '192.0.2.1')`,
        [hours, context.tenant.id],
      ),
  },
  challenges: {
    table: 'challenges',
    hours: [22, 26],
    insert: (hours, { database, context }) =>
      database.query(
        `WITH swept AS (UPDATE challenge_sweep SET swept_until = now())
         INSERT INTO challenges (id, tenant_id, agent_id, key_id, key_fingerprint, algorithm, nonce, audience, scopes, created_at, expires_at)
         VALUES ($1, $2, $1, $1, '', 'ed25519', '', '', '{}', ${ago('$3')} - interval '5 minutes', ${ago('$3')})`,
        [newId(), context.tenant.id, hours],
      ),
  },
  'idempotency keys': {
    table: 'idempotency_keys',
    hours: [22, 26],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO idempotency_keys (tenant_id, principal, route, key, request_digest, status, headers, created_at)
         VALUES ($1, '', '', $2, '', 200, '{}', ${ago('$3')})`,
        [context.tenant.id, randomUUID(), hours],
      ),
  },
  'objective counts': {
    table: 'objective_counts',
    hours: [34 * 24, 37 * 24],
    insert: (hours, { database }) =>
      database.query(
        `INSERT INTO objective_counts VALUES ((${ago('$1')})::date, gen_random_uuid(), 'tokens', 1, 1)`,
        [hours],
      ),
  },
  'published event ids': {
    table: 'published_events',
    hours: [30 * 24 - 2, 31 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO published_events (tenant_id, event_id, id, digest, deliveries, created_at) VALUES ($1, $2, $3, '', 0, ${ago('$4')})`,
        [context.tenant.id, randomUUID(), newId(), hours],
      ),
  },
  receipts: {
    table: 'receipts',
    hours: [30 * 24 - 2, 31 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO receipts (id, tenant_id, agent_id, cause, receivers, created_at, completed_at)
         VALUES ($1, $2, $1, 'admin.agent.suspended', 0, ${ago('$3')}, now())`,
        [newId(), context.tenant.id, hours],
      ),
  },
  'refresh tokens': {
    table: 'refresh_tokens',
    hours: [30 * 24 - 2, 30 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO refresh_tokens (id, tenant_id, family_id, agent_id, key_id, hash, client_id, scopes, audience, family_expires_at)
         VALUES ($1, $2, $1, $1, $1, $3, '', '{}', '', ${ago('$4')})`,
        [newId(), context.tenant.id, randomBytes(32), hours],
      ),
  },
  'enrollment tokens': {
    table: 'enrollment_tokens',
    hours: [30 * 24 - 2, 30 * 24 + 2],
    insert: async (hours, { database, context }) => {
      const agentId = newId();
      await database.query(
        `INSERT INTO agents (id, tenant_id, name, scopes) VALUES ($1, $2, 'robot', '{}')`,
        [agentId, context.tenant.id],
      );
      await database.query(
        `INSERT INTO enrollment_tokens (id, tenant_id, agent_id, hash, expires_at) VALUES ($1, $2, $3, $4, ${ago('$5')})`,
        [newId(), context.tenant.id, agentId, randomBytes(32), hours],
      );
    },
  },
  'client assertions': {
    table: 'client_assertions',
    hours: [-1, 1],
    insert: (hours, { database }) =>
      database.query(
        `INSERT INTO client_assertions (client_id, jti_hash, expires_at) VALUES ($1, $2, ${ago('$3')})`,
        [newId(), randomBytes(32), hours],
      ),
  },
  'console sessions': {
    table: 'console_sessions',
    hours: [7, 9],
    insert: async (hours, { database, context }) => {
      const applicationId = await insertApplication(database, context.tenant.id);
      await database.query(
        `INSERT INTO console_sessions (id, hash, tenant_id, application_id, created_at) VALUES ($1, $2, $3, $4, ${ago('$5')})`,
        [newId(), randomBytes(32), context.tenant.id, applicationId, hours],
      );
    },
  },
  'console codes': {
    table: 'console_codes',
    hours: [-1, 1],
    insert: async (hours, { database, context }) => {
      const applicationId = await insertApplication(database, context.tenant.id);
      await database.query(
        `INSERT INTO console_codes (hash, tenant_id, application_id, expires_at) VALUES ($1, $2, $3, ${ago('$4')})`,
        [randomBytes(32), context.tenant.id, applicationId, hours],
      );
    },
  },
  'workload assertions': {
    table: 'workload_assertions',
    hours: [-1, 1],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO workload_assertions (tenant_id, hash, expires_at) VALUES ($1, $2, ${ago('$3')})`,
        [context.tenant.id, randomBytes(32), hours],
      ),
  },
  'DPoP proofs': {
    table: 'dpop_proofs',
    hours: [-1, 1],
    insert: (hours, { database }) =>
      database.query(`INSERT INTO dpop_proofs (jkt, jti_hash, expires_at) VALUES ($1, $2, ${ago('$3')})`, [
        randomBytes(32),
        randomBytes(32),
        hours,
      ]),
  },
  revocations: {
    table: 'revocations',
    hours: [-1, 1],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO revocations (tenant_id, token_id, expires_at) VALUES ($1, $2, ${ago('$3')})`,
        [context.tenant.id, newId(), hours],
      ),
  },
  'rate limits': {
    table: 'rate_limits',
    hours: [0.5, 2],
    insert: (hours, { database }) =>
      database.query(
        `INSERT INTO rate_limits (key, points, expire) VALUES ($1, 1, (extract(epoch FROM ${ago('$2')}) * 1000)::bigint)`,
        [randomUUID(), hours],
      ),
  },
  'work of old deliveries': {
    table: 'outbox',
    hours: [30 * 24 - 2, 31 * 24 + 2],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, kind) VALUES ($1, $2, $1, uuid_of_time(${ago('$3')}), 'wake')`,
        [newId(), context.tenant.id, hours],
      ),
  },
  'rows without a partition': {
    table: 'attempts_default',
    // Far away, where no day has a partition.
    hours: [-24_000, 24_000],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO attempts_default (delivery_id, n, tenant_id, subscription_id, generation, started_at, duration_ms, outcome)
         VALUES (uuid_of_time(${ago('$1')}), 1, $2, $2, 0, now(), 1, 'retry')`,
        [hours, context.tenant.id],
      ),
  },
  'bulk replays': {
    table: 'bulk_replays',
    hours: [30 * 24 - 2, 30 * 24 + 2],
    insert: async (hours, { database, context }) => {
      const subscription = await insertSubscription(database, context, { filters: ['*'] });
      await database.query(
        `INSERT INTO bulk_replays (id, tenant_id, subscription_id, delivery_status, since, until, status, matched, completed_at)
         VALUES ($1, $2, $3, 'failed', now(), now(), 'completed', 0, ${ago('$4')})`,
        [newId(), context.tenant.id, subscription, hours],
      );
    },
  },
  accounts: {
    table: 'delivery_accounts',
    hours: [399 * 24, 402 * 24],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO delivery_accounts (tenant_id, day, accepted, delivered, waiting, held, failed, canceled, stranded)
         VALUES ($1, (${ago('$2')} AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, 0, 0)`,
        [context.tenant.id, hours],
      ),
  },
  'hours of deliveries': {
    table: 'delivery_hours',
    hours: [24, 26],
    insert: (hours, { database, context }) =>
      database.query(
        `INSERT INTO delivery_hours (tenant_id, subscription_id, hour, delivered, failed, canceled, unfinished)
         VALUES ($1, gen_random_uuid(), ${ago('$2')}, 0, 0, 0, 0)`,
        [context.tenant.id, hours],
      ),
  },
};

type Place = { readonly database: Database; readonly context: RequestContext };

function ago(hours: string): string {
  return `(now() - ${hours}::float8 * interval '1 hour')`;
}
