// SQL of what streams have beside their subscriptions. Each statement of a route is bound to the stream's tenant and
// receiver.
import { changed, many, one } from '../../platform/database/statements.ts';
import type { StreamRow } from './stream.model.ts';
import type { StreamMethod, StreamName, StreamStatus } from './stream.ts';

/** What a change writes: into the stream, and into its subscription. */
export type StreamChange = Omit<StreamRow, 'id' | 'audience' | 'disabledReason' | 'isOpen'>;

const READ = `
SELECT t.id, t.method, t.receiver AS audience, s.url, s.host, s.headers_sealed,
  t.events_requested, s.description, t.status, t.reason, s.disabled_reason, p.active AS is_open
FROM streams t JOIN subscriptions s ON s.id = t.id JOIN endpoints p ON p.subscription_id = t.id
WHERE t.tenant_id = $1 AND t.receiver = $2 AND s.deleted_at IS NULL`;

export const find = one<StreamRow, StreamName>(`${READ} AND t.id = $3`);

/** Reads a stream and locks its subscription until the transaction ends. */
export const lock = one<StreamRow, StreamName>(`${READ} AND t.id = $3 FOR NO KEY UPDATE OF s`);

/** Lists the receiver's streams, the oldest first. */
export const list = many<StreamRow, [tenantId: string, receiver: string]>(`${READ} ORDER BY t.id`);

type Requested = readonly string[] | null;

export const insert = changed<[...StreamName, method: StreamMethod, eventsRequested: Requested]>(
  'INSERT INTO streams (tenant_id, receiver, id, method, events_requested) VALUES ($1, $2, $3, $4, $5)',
);

/** Changes a stream that the transaction has locked. */
export const change = changed<
  [id: string, method: StreamMethod, eventsRequested: Requested, status: StreamStatus, reason: string | null]
>('UPDATE streams SET method = $2, events_requested = $3, status = $4, reason = $5 WHERE id = $1');

/** Adds an agent to those that the stream leaves out. */
export const exclude = changed<[id: string, agentId: string]>(
  'INSERT INTO stream_exclusions (stream_id, agent_id) VALUES ($1, $2) ON CONFLICT DO NOTHING',
);

/** Takes an agent from those that the stream leaves out. */
export const include = changed<[id: string, agentId: string]>(
  'DELETE FROM stream_exclusions WHERE stream_id = $1 AND agent_id = $2',
);
