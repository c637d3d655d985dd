// SQL of streams: their rows beside those of the subscriptions that they are. Each statement of a route is bound to the
// stream's tenant and receiver.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { StreamMethod, StreamName, StreamRow, StreamStatus } from './stream.ts';

export type NewStream = StreamName & {
  readonly method: StreamMethod;
  readonly audience: string;
  readonly url: string;
  readonly host: string;
  readonly secretSealed: Buffer;
  readonly headersSealed: Buffer | null;
  readonly eventTypes: readonly string[];
  readonly eventsRequested: readonly string[] | null;
  readonly description: string | null;
};

/** What a change writes. A disabled stream has no filters. */
export type StreamChange = Pick<
  NewStream,
  'method' | 'url' | 'host' | 'headersSealed' | 'eventTypes' | 'eventsRequested' | 'description'
> & { readonly status: StreamStatus; readonly reason: string | null };

const READ = `
SELECT t.id, t.method, s.stream_audience AS audience, s.url, s.host, s.headers_sealed AS "headersSealed",
  t.events_requested AS "eventsRequested", s.description, t.status, t.reason, s.disabled_reason AS "disabledReason", p.active AS "isOpen"
FROM streams t JOIN subscriptions s ON s.id = t.id JOIN endpoints p ON p.subscription_id = t.id
WHERE t.tenant_id = $1 AND t.receiver = $2 AND s.deleted_at IS NULL`;

const INSERT = `
WITH subscription AS (
  INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, description, sink, secret_sealed, headers_sealed, stream_audience)
  VALUES ($1, $2, $3, $4, $5, $5, $6, 'security', $7, $8, $9)
)
INSERT INTO streams (id, tenant_id, receiver, method, events_requested) VALUES ($1, $2, $10, $11, $12)`;

const CHANGE = `
WITH stream AS (
  UPDATE streams SET method = $2, events_requested = $3, status = $4, reason = $5 WHERE id = $1
)
UPDATE subscriptions SET url = $6, host = $7, headers_sealed = $8, event_types = $9, description = $10, updated_at = now(),
  filters = CASE WHEN $4 = 'disabled' THEN '{}' ELSE $9::text[] END, disabled_reason = CASE WHEN $4 = 'enabled' THEN NULL ELSE disabled_reason END
WHERE id = $1`;

export async function find(queryable: Queryable, name: StreamName): Promise<StreamRow | undefined> {
  const values = [name.tenantId, name.receiver, name.id];
  return (await queryable.query<StreamRow>(`${READ} AND t.id = $3`, values)).rows[0];
}

/** Reads a stream and locks its subscription until the transaction ends. */
export async function lock(unit: Queryable, name: StreamName): Promise<StreamRow | undefined> {
  const values = [name.tenantId, name.receiver, name.id];
  return (await unit.query<StreamRow>(`${READ} AND t.id = $3 FOR NO KEY UPDATE OF s`, values)).rows[0];
}

/** Lists the receiver's streams, the oldest first. */
export async function list(
  queryable: Queryable,
  { tenantId, receiver }: Omit<StreamName, 'id'>,
): Promise<StreamRow[]> {
  return (await queryable.query<StreamRow>(`${READ} ORDER BY t.id`, [tenantId, receiver])).rows;
}

export async function insert(unit: Queryable, stream: NewStream): Promise<void> {
  await unit.query(INSERT, [
    stream.id,
    stream.tenantId,
    stream.url,
    stream.host,
    stream.eventTypes,
    stream.description,
    stream.secretSealed,
    stream.headersSealed,
    stream.audience,
    stream.receiver,
    stream.method,
    stream.eventsRequested,
  ]);
}

/** Changes a stream that the transaction has locked. */
export async function change(unit: Queryable, id: string, to: StreamChange): Promise<void> {
  await unit.query(CHANGE, [
    id,
    to.method,
    to.eventsRequested,
    to.status,
    to.reason,
    to.url,
    to.host,
    to.headersSealed,
    to.eventTypes,
    to.description,
  ]);
}

export async function markDeleted(unit: Queryable, id: string): Promise<void> {
  await unit.query('UPDATE subscriptions SET deleted_at = now(), updated_at = now() WHERE id = $1', [id]);
}

/** Adds an agent to those that the stream leaves out, or takes it from them. */
export async function exclude(
  unit: Queryable,
  { id, agentId, isExcluded }: { id: string; agentId: string; isExcluded: boolean },
): Promise<void> {
  const text = isExcluded
    ? 'INSERT INTO stream_exclusions (stream_id, agent_id) VALUES ($1, $2) ON CONFLICT DO NOTHING'
    : 'DELETE FROM stream_exclusions WHERE stream_id = $1 AND agent_id = $2';
  await unit.query(text, [id, agentId]);
}
