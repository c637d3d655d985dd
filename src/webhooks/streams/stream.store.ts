// SQL of what streams have beside their subscriptions. Each statement of a route is bound to the stream's tenant and
// receiver.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { StreamName, StreamRow } from './stream.ts';

/** What a stream has beside its subscription. */
type StreamColumns = Pick<StreamRow, 'method' | 'eventsRequested' | 'status' | 'reason'>;

/** What a change writes: into the stream, and into its subscription. */
export type StreamChange = StreamColumns & Pick<StreamRow, 'url' | 'host' | 'headersSealed' | 'description'>;

const READ = `
SELECT t.id, t.method, s.stream_audience AS audience, s.url, s.host, s.headers_sealed AS "headersSealed",
  t.events_requested AS "eventsRequested", s.description, t.status, t.reason, s.disabled_reason AS "disabledReason", p.active AS "isOpen"
FROM streams t JOIN subscriptions s ON s.id = t.id JOIN endpoints p ON p.subscription_id = t.id
WHERE t.tenant_id = $1 AND t.receiver = $2 AND s.deleted_at IS NULL`;

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

export async function insert(
  unit: Queryable,
  stream: StreamName & Pick<StreamColumns, 'method' | 'eventsRequested'>,
): Promise<void> {
  await unit.query(
    'INSERT INTO streams (id, tenant_id, receiver, method, events_requested) VALUES ($1, $2, $3, $4, $5)',
    [stream.id, stream.tenantId, stream.receiver, stream.method, stream.eventsRequested],
  );
}

/** Changes a stream that the transaction has locked. */
export async function change(unit: Queryable, id: string, to: StreamColumns): Promise<void> {
  await unit.query(
    'UPDATE streams SET method = $2, events_requested = $3, status = $4, reason = $5 WHERE id = $1',
    [id, to.method, to.eventsRequested, to.status, to.reason],
  );
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
