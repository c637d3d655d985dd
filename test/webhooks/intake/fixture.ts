// Tenants and subscriptions as bare rows, for tests of what happens to events.
import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Queryable } from '../../../src/platform/database/transaction.ts';
import { createFeedCursors } from '../../../src/webhooks/intake/feed-cursor.node.ts';

/** What a feed of a test needs beside its database. */
export const CURSORS = {
  cursors: createFeedCursors({ masterKeys: [{ key: new Uint8Array(32).fill(1) }] }),
};

/** Inserts a tenant. @returns the context of a request to it */
export async function createTenantContext(database: Queryable): Promise<RequestContext> {
  const id = newId();
  const slug = `t${id.slice(-12)}`;
  const baseUrl = `http://localhost/t/${slug}`;
  await database.query(
    'INSERT INTO tenants (id, slug, name, base_url, issuer_url) VALUES ($1, $2, $2, $3, $3)',
    [id, slug, baseUrl],
  );
  return {
    requestId: randomUUID(),
    address: '192.0.2.1',
    tenant: {
      id,
      slug,
      name: slug,
      audience: baseUrl,
      signingAlgorithm: 'ES256',
      baseUrl,
      issuerUrl: baseUrl,
    },
  };
}

/** Inserts a subscription and its endpoint. @returns the subscription's id */
export async function insertSubscription(
  database: Database,
  context: RequestContext,
  { filters, active = true, deleted = false }: { filters: string[]; active?: boolean; deleted?: boolean },
): Promise<string> {
  const id = newId();
  await database.query(
    `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed, deleted_at)
     VALUES ($1, $2, 'https://example.com/', 'example.com', $3, $3, 'audit', '\\x00', CASE WHEN $4 THEN now() END)`,
    [id, context.tenant.id, filters, deleted],
  );
  await database.query(
    'INSERT INTO endpoints (subscription_id, tenant_id, active, deleted) VALUES ($1, $2, $3, $4)',
    [id, context.tenant.id, active, deleted],
  );
  return id;
}

/** How many rows of each table an event or a tenant has. */
export async function countRows(database: Queryable, tenantId: string) {
  const { rows } = await database.query<Record<'events' | 'deliveries' | 'outbox' | 'published', number>>(
    `SELECT (SELECT count(*)::int FROM events WHERE tenant_id = $1) AS events,
            (SELECT count(*)::int FROM deliveries WHERE tenant_id = $1) AS deliveries,
            (SELECT count(*)::int FROM outbox WHERE tenant_id = $1) AS outbox,
            (SELECT count(*)::int FROM published_events WHERE tenant_id = $1) AS published`,
    [tenantId],
  );
  return rows[0];
}

/** What the published schemas of events mean by their formats; a validator refuses a format that is not here. */
export const FORMATS = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/,
};
