// What a version from before the first release leaves: a table that it shares with today's schema, and the names of its
// migrations.
import pg from 'pg';

const NAMES = [
  ...['0001-identity', '0002-accounts', '0003-events', '0004-audit-checkpoints', '0005-dpop'],
  ...['0006-delegations', '0007-tokens', '0008-enrollments', '0009-key-rotations', '0010-anchors'],
  ...['0011-key-aliases', '0012-lane-recovery', '0013-event-feed', '0014-endpoint-recovery'],
  ...['0015-webhook-control', '0016-retention', '0017-expected-workflows', '0018-anchor-checks'],
  ...['0019-challenge-expiry', '0020-tenant-suspension', '0021-issuer-keys', '0022-traces'],
  ...['0023-host-holds', '0024-delegation-expiry', '0025-anchor-turns', '0026-sealing-keys'],
  '0027-operator-act-chain',
];

/** Makes an empty database such a one. */
export async function makeUnreleased(url: string, names: readonly string[] = NAMES): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      `CREATE TABLE schema_migrations (name text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
       CREATE TABLE tenants (id uuid PRIMARY KEY, slug text NOT NULL);
       INSERT INTO tenants VALUES (gen_random_uuid(), 'kept')`,
    );
    await client.query('INSERT INTO schema_migrations (name) SELECT unnest($1::text[])', [names]);
  } finally {
    await client.end();
  }
}
