// What 0.1.0 leaves: a table that it shares with today's schema, and the names of its migrations.
import pg from 'pg';

const NAMES = ['0001-general', '0012-feed-snapshots'];

/** Makes an empty database such a one. */
export async function makeFormer(url: string, names: readonly string[] = NAMES): Promise<void> {
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
