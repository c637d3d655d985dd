// What becomes of each table when a tenant is erased, in the order of removal: rows go before the rows they refer to.

/**
 * `where`: the tenant's rows; $1 is the tenant. `export`: whether the tenant's archive has them, and other columns than
 * those of the table as an SQL object. `kept`: why none are removed.
 */
export type ErasureRule = {
  readonly where?: string;
  readonly export?: true | string;
  readonly kept?: string;
};

const OF_TENANT = 'tenant_id = $1';
const SHORT = 'hashes without a tenant, which go after minutes';

/** Every table. One that is not here fails test/operations/erasure/erasure-rules.test.ts. */
export const ERASURE_RULES: Readonly<Record<string, ErasureRule>> = {
  workflow_commands: {},
  outbox: {},
  crowded_deliveries: {},
  attempts: {
    // The table has no index by tenant.
    where: 'tenant_id = $1 AND delivery_id IN (SELECT id FROM deliveries WHERE tenant_id = $1)',
    export: true,
  },
  deliveries: { export: true },
  receipts: { export: true },
  bulk_replay_parts: { where: 'replay_id IN (SELECT id FROM bulk_replays WHERE tenant_id = $1)' },
  bulk_replays: { export: true },
  events: { export: "jsonb_build_object('body', convert_from(body, 'UTF8')::jsonb)" },
  published_events: {},
  stream_exclusions: {
    where: 'stream_id IN (SELECT id FROM streams WHERE tenant_id = $1)',
    export: true,
  },
  streams: { export: true },
  host_holds: {
    where: `host IN (
      SELECT unnest(ARRAY[host, host_name(host)]) FROM subscriptions WHERE tenant_id = $1
      EXCEPT SELECT unnest(ARRAY[host, host_name(host)]) FROM subscriptions WHERE tenant_id <> $1 AND deleted_at IS NULL)`,
  },
  endpoints: { export: true },
  subscriptions: { export: true },
  subscription_filters: { kept: 'a trigger removes them with their subscription' },
  console_codes: {},
  console_sessions: {},
  challenges: {},
  challenge_expiry_counts: {},
  refresh_tokens: {},
  revocations: {},
  client_assertions: { where: 'client_id IN (SELECT id FROM applications WHERE tenant_id = $1)' },
  delegations: { export: true },
  users: { export: true },
  workload_assertions: {},
  workload_issuers: { export: true },
  trusted_issuers: { export: true },
  enrollment_tokens: { export: true },
  anchors: { export: true },
  key_rotations: { export: true },
  directory_signatures: {},
  agent_keys: { export: true },
  application_secrets: { export: true },
  applications: { export: true },
  agents: { export: true },
  issuer_keys: { export: true },
  event_keys: { export: true },
  delivery_accounts: { export: true },
  delivery_hours: {},
  idempotency_keys: {},
  audit_log: { export: true },
  audit_checkpoints: {
    kept: 'ids and hashes: without them the log of the other tenants could not be verified',
    export: true,
  },
  tenant_ends: { kept: 'goes with the tenant' },
  tenants: { where: 'id = $1', kept: 'goes last, with the signature of the certificate', export: true },
  audit_erasures: { kept: 'the certificates' },
  audit_seals: { kept: 'ids of tenants, and hashes' },
  audit_head: { kept: 'of all tenants' },
  audit_beginning: { kept: 'of all tenants' },
  audit_signing_keys: { kept: 'of all tenants' },
  challenge_sweep: { kept: 'of all tenants' },
  delivery_account_days: { kept: 'of all tenants' },
  delivery_hour_counts: { kept: 'of all tenants' },
  objective_counts: { kept: 'of all tenants' },
  dpop_proofs: { kept: SHORT },
  operator_acts: { kept: 'what operators did: the id and the slug of the tenant, and their own words' },
  operator_act_head: { kept: 'of all tenants' },
  rate_limits: { kept: 'counters, which go after an hour' },
  relays: { kept: 'of all tenants' },
};

/** @returns the tables that are emptied, in their order, each with the condition of the tenant's rows */
export function listErased(): { readonly table: string; readonly where: string }[] {
  return Object.entries(ERASURE_RULES).flatMap(([table, { where = OF_TENANT, kept }]) =>
    kept === undefined ? [{ table, where }] : [],
  );
}

/** @returns the tables of the archive, each with the condition of the tenant's rows */
export function listExported(): { readonly table: string; readonly where: string; readonly more: string }[] {
  return Object.entries(ERASURE_RULES).flatMap(([table, { where = OF_TENANT, export: exported }]) => {
    if (exported === undefined) return [];
    return [{ table, where, more: exported === true ? "'{}'::jsonb" : exported }];
  });
}
