// SQL of bulk replays. Each step locks the row first, so that no delivery is replayed twice.
import { deleteOldest } from '../../platform/database/deletion.ts';
import { changed, one, paged, type Statement, value } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import { BULK_REPLAY, type BulkReplayRow } from './bulk-replay.model.ts';
import type { BulkReplay, BulkReplayEnd, BulkReplayStatus, ReplayableStatus } from './bulk-replay.ts';

/** Names a bulk replay of the given subscription, or of any when `subscriptionId` is undefined. */
export type BulkReplayName = {
  readonly tenantId: string;
  readonly subscriptionId?: string | undefined;
  readonly id: string;
};

type Name = [tenantId: string, id: string, subscriptionId: string | undefined];

const named =
  <Answer>(statement: Statement<Name, Answer>) =>
  (queryable: Queryable, { tenantId, id, subscriptionId }: BulkReplayName): Promise<Answer> =>
    statement(queryable, tenantId, id, subscriptionId);

const COLUMNS = selectList(BULK_REPLAY, columnNames(BULK_REPLAY));

const BY_NAME =
  'FROM bulk_replays WHERE tenant_id = $1 AND id = $2 AND ($3::uuid IS NULL OR subscription_id = $3)';

export const find = named(one<BulkReplayRow, Name>(`SELECT ${COLUMNS} ${BY_NAME}`));

/** Reads a bulk replay and locks its row until the transaction ends. */
export const lock = named(one<BulkReplayRow, Name>(`SELECT ${COLUMNS} ${BY_NAME} FOR UPDATE`));

/** Finds one with its `outcomes`, at a cost that grows with its deliveries. */
export const read = named(
  // By the bounds of a part Postgres opens the partitions of its days alone.
  one<Required<BulkReplay>, Name>(`
SELECT ${COLUMNS}, (
  SELECT json_build_object('delivered', count(*) FILTER (WHERE d.status = 'delivered'), 'waiting', count(*) FILTER (WHERE d.status IN ('pending', 'retrying')),
    'failed', count(*) FILTER (WHERE d.status = 'failed'), 'canceled', count(*) FILTER (WHERE d.status = 'canceled'), 'unknown', bulk_replays.replayed - count(*))
  FROM bulk_replay_parts p JOIN deliveries d ON d.id BETWEEN p.first AND p.last AND d.id = ANY (p.deliveries) WHERE p.replay_id = bulk_replays.id
) AS outcomes ${BY_NAME}`),
);

/** @returns the current time by the database's clock */
export const now = value<Date>('SELECT now()::timestamptz(3)');

/** `until` is exclusive. @returns undefined while another bulk replay of the subscription runs */
export const insert = one<
  BulkReplayRow,
  [
    id: string,
    tenantId: string,
    subscriptionId: string,
    deliveryStatus: ReplayableStatus,
    since: Date,
    until: Date,
    matched: number,
    createdAt: Date,
  ]
>(`
INSERT INTO bulk_replays (id, tenant_id, subscription_id, delivery_status, since, until, matched, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (subscription_id) WHERE status = 'running' DO NOTHING
RETURNING ${COLUMNS}`);

/** Finds the subscription's running bulk replay. */
export const findRunning = one<{ id: string }, [subscriptionId: string]>(
  `SELECT id FROM bulk_replays WHERE subscription_id = $1 AND status = 'running'`,
);

export const describe = one<
  { subscriptionId: string; host: string; deliveryStatus: string },
  [tenantId: string, id: string]
>(`
SELECT r.subscription_id, s.host, r.delivery_status
FROM bulk_replays r JOIN subscriptions s ON s.id = r.subscription_id WHERE r.tenant_id = $1 AND r.id = $2`);

/** Lists a page of bulk replays, the newest first. */
export const list = paged<BulkReplayRow, [tenantId: string, subscriptionId: string]>(`
SELECT ${COLUMNS} FROM bulk_replays WHERE tenant_id = $3 AND subscription_id = $4 AND ($1::uuid IS NULL OR id < $1)
ORDER BY id DESC LIMIT $2`);

/** Records a replayed chunk in a row that the caller has locked. */
export const advance = changed<[id: string, replayed: number, last: string | null]>(
  'UPDATE bulk_replays SET replayed = replayed + $2, next_after = coalesce($3, next_after) WHERE id = $1',
);

/** Ends a bulk replay whose row the caller has locked. */
export const end = changed<
  [id: string, status: Exclude<BulkReplayStatus, 'running'>, reason: BulkReplayEnd | null]
>('UPDATE bulk_replays SET status = $2, end_reason = $3, completed_at = clock_timestamp() WHERE id = $1');

/** Lists bulk replays that have not ended, so that their bulkReplay should be running. */
export const listExpectedWorkflows = listBy(`
SELECT tenant_id, id AS entity_id FROM bulk_replays
WHERE status = 'running' AND id > $1 ORDER BY id LIMIT $2`);

/** Deletes bulk replays that ended more than 30 days ago. @returns how many, at most `limit` */
export const purge = deleteOldest('bulk_replays', {
  key: ['id'],
  old: `completed_at < now() - interval '30 days'`,
  by: 'completed_at',
});
