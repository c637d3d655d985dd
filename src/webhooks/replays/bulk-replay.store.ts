// SQL of bulk replays. Each step locks the row first, so that no delivery is replayed twice.

import { deleteOldest } from '../../platform/database/deletion.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import type { BulkReplay, BulkReplayEnd } from './bulk-replay.ts';

/** Names a bulk replay of the given subscription, or of any when `subscriptionId` is undefined. */
export type BulkReplayName = {
  readonly tenantId: string;
  readonly subscriptionId?: string | undefined;
  readonly id: string;
};

export type NewBulkReplay = Pick<
  BulkReplay,
  'id' | 'tenantId' | 'subscriptionId' | 'deliveryStatus' | 'since' | 'until' | 'matched' | 'createdAt'
>;

const COLUMNS = `
id, tenant_id AS "tenantId", subscription_id AS "subscriptionId", delivery_status AS "deliveryStatus", since, until, status,
end_reason AS "endReason", matched, replayed, next_after AS "nextAfter", created_at AS "createdAt", completed_at AS "completedAt"`;

// By the bounds of a part Postgres opens the partitions of its days alone.
const OUTCOMES = `, (
  SELECT json_build_object('delivered', count(*) FILTER (WHERE d.status = 'delivered'), 'waiting', count(*) FILTER (WHERE d.status IN ('pending', 'retrying')),
    'failed', count(*) FILTER (WHERE d.status = 'failed'), 'canceled', count(*) FILTER (WHERE d.status = 'canceled'), 'unknown', bulk_replays.replayed - count(*))
  FROM bulk_replay_parts p JOIN deliveries d ON d.id BETWEEN p.first AND p.last AND d.id = ANY (p.deliveries) WHERE p.replay_id = bulk_replays.id
) AS outcomes`;

const findBy = (more = '') => `
SELECT ${COLUMNS}${more} FROM bulk_replays WHERE tenant_id = $1 AND id = $2 AND ($3::uuid IS NULL OR subscription_id = $3)`;

const INSERT = `
INSERT INTO bulk_replays (id, tenant_id, subscription_id, delivery_status, since, until, matched, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (subscription_id) WHERE status = 'running' DO NOTHING
RETURNING ${COLUMNS}`;

const EXPECTED = `
SELECT tenant_id AS "tenantId", id AS "entityId" FROM bulk_replays
WHERE status = 'running' AND id > $1 ORDER BY id LIMIT $2`;

const findOne = async (queryable: Queryable, name: BulkReplayName, statement: string) => {
  const values = [name.tenantId, name.id, name.subscriptionId ?? null];
  return (await queryable.query<BulkReplay>(statement, values)).rows[0];
};

/** @returns the current time by the database's clock */
export async function now(queryable: Queryable): Promise<Date> {
  const { rows } = await queryable.query<{ now: Date }>('SELECT now()::timestamptz(3) AS now');
  return rows[0]?.now ?? new Date();
}

/** @returns undefined while another bulk replay of the subscription runs */
export async function insert(unit: Queryable, row: NewBulkReplay): Promise<BulkReplay | undefined> {
  const { id, tenantId, subscriptionId, deliveryStatus, since, until, matched, createdAt } = row;
  const values = [id, tenantId, subscriptionId, deliveryStatus, since, until, matched, createdAt];
  return (await unit.query<BulkReplay>(INSERT, values)).rows[0];
}

/** @returns the id of the subscription's running bulk replay */
export async function findRunning(queryable: Queryable, subscriptionId: string): Promise<string | undefined> {
  const { rows } = await queryable.query<{ id: string }>(
    `SELECT id FROM bulk_replays WHERE subscription_id = $1 AND status = 'running'`,
    [subscriptionId],
  );
  return rows[0]?.id;
}

export function find(queryable: Queryable, name: BulkReplayName): Promise<BulkReplay | undefined> {
  return findOne(queryable, name, findBy());
}

/** Finds one with its `outcomes`, at a cost that grows with its deliveries. */
export function read(queryable: Queryable, name: BulkReplayName): Promise<BulkReplay | undefined> {
  return findOne(queryable, name, findBy(OUTCOMES));
}

/** Reads a bulk replay and locks its row until the transaction ends. */
export function lock(unit: Queryable, name: BulkReplayName): Promise<BulkReplay | undefined> {
  return findOne(unit, name, `${findBy()} FOR UPDATE`);
}

export async function describe(
  queryable: Queryable,
  { tenantId, id }: BulkReplayName,
): Promise<{ subscriptionId: string; host: string; deliveryStatus: string } | undefined> {
  const { rows } = await queryable.query<{
    subscriptionId: string;
    host: string;
    deliveryStatus: string;
  }>(
    `SELECT r.subscription_id AS "subscriptionId", s.host, r.delivery_status AS "deliveryStatus"
         FROM bulk_replays r JOIN subscriptions s ON s.id = r.subscription_id WHERE r.tenant_id = $1 AND r.id = $2`,
    [tenantId, id],
  );
  return rows[0];
}

/** Lists a page of bulk replays, the newest first. */
export async function list(
  queryable: Queryable,
  { tenantId, subscriptionId }: { tenantId: string; subscriptionId: string },
  { limit, cursor }: PageRequest,
): Promise<Page<BulkReplay>> {
  const { rows } = await queryable.query<BulkReplay>(
    `SELECT ${COLUMNS} FROM bulk_replays WHERE tenant_id = $1 AND subscription_id = $2 AND ($3::uuid IS NULL OR id < $3)
         ORDER BY id DESC LIMIT $4`,
    [tenantId, subscriptionId, cursor ?? null, limit + 1],
  );
  return toPage(rows, limit);
}

/** Records a replayed chunk in a row that the caller has locked. */
export async function advance(
  unit: Queryable,
  id: string,
  { replayed, last }: { replayed: number; last: string | null },
): Promise<void> {
  await unit.query(
    'UPDATE bulk_replays SET replayed = replayed + $2, next_after = coalesce($3, next_after) WHERE id = $1',
    [id, replayed, last],
  );
}

/** Ends a bulk replay whose row the caller has locked. */
export async function end(
  unit: Queryable,
  id: string,
  status: 'completed' | 'canceled',
  reason: BulkReplayEnd | null,
): Promise<void> {
  await unit.query(
    'UPDATE bulk_replays SET status = $2, end_reason = $3, completed_at = clock_timestamp() WHERE id = $1',
    [id, status, reason],
  );
}

/** Lists bulk replays that have not ended, so that their bulkReplay should be running. */
export const listExpectedWorkflows = listBy(EXPECTED);

/** Deletes bulk replays that ended more than 30 days ago. @returns how many, at most `limit` */
export const purge = deleteOldest('bulk_replays', {
  key: ['id'],
  old: `completed_at < now() - interval '30 days'`,
  by: 'completed_at',
});
