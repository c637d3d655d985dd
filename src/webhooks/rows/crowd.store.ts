// SQL of crowds. Who lets a delivery join or leave one for its time has locked its endpoint before, so that the
// workflow of the endpoint misses none.
// docs/decisions/0043-crowds.md

import { boundsOf } from '../../platform/database/partitions.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { EndpointName } from '../endpoints/endpoint-state.ts';
import { attemptCrowded, leaveCrowd } from './crowd.ts';
import { OVERDUE_CROWDS } from './leftovers.ts';

// Joining removes the row of the outbox of the attempt that has failed.
const JOIN = `
WITH member AS (
  SELECT id, tenant_id, subscription_id, generation, next_attempt_at FROM deliveries d
  WHERE d.id = ANY($3::uuid[]) AND d.id BETWEEN $1 AND $2
), attempted AS (
  DELETE FROM outbox o USING member m WHERE o.id = m.id AND o.kind = 'first'
), joined AS (
  INSERT INTO crowded_deliveries (delivery_id, tenant_id, subscription_id, generation, due_at)
  SELECT id, tenant_id, subscription_id, generation, next_attempt_at FROM member
  ON CONFLICT (delivery_id) DO UPDATE SET generation = excluded.generation, due_at = excluded.due_at
  RETURNING due_at
)
SELECT min(due_at) AS due FROM joined`;

const EARLIEST = 'SELECT min(due_at) AS due FROM crowded_deliveries WHERE subscription_id = $1';

const RELEASE = `
WITH due AS (
  SELECT delivery_id AS id, tenant_id, subscription_id, generation FROM crowded_deliveries
  WHERE subscription_id = $1 AND due_at <= now() ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
), released AS (${leaveCrowd('due')}
)
${attemptCrowded('due')}`;

const OVERDUE = `
SELECT DISTINCT c.tenant_id AS "tenantId", c.subscription_id AS "subscriptionId" ${OVERDUE_CROWDS}
  AND NOT EXISTS (SELECT 1 FROM workflow_commands w WHERE w.workflow = 'endpointRecovery' AND w.entity_id = c.subscription_id)`;

/** Lets deliveries wait in the crowd of their endpoint. @returns the time of the earliest of them */
export async function joinCrowd(unit: Transaction, ids: readonly string[]): Promise<Date | null> {
  return (await unit.query<{ due: Date | null }>(JOIN, [...boundsOf(ids), ids])).rows[0]?.due ?? null;
}

/** @returns when the first delivery of the crowd is due; null without a crowd */
export async function earliestOfCrowd(unit: Queryable, subscriptionId: string): Promise<Date | null> {
  return (await unit.query<{ due: Date | null }>(EARLIEST, [subscriptionId])).rows[0]?.due ?? null;
}

/** Enqueues the attempts of the deliveries that are due. @returns how many, at most `limit` */
export async function releaseCrowd(
  unit: Transaction,
  subscriptionId: string,
  limit: number,
): Promise<number> {
  return (await unit.query(RELEASE, [subscriptionId, limit])).rowCount;
}

/**
 * Lists endpoints whose workflow has not released their crowd for `lateMs` milliseconds, and which no command calls.
 */
export async function overdueCrowds(queryable: Queryable, lateMs: number): Promise<EndpointName[]> {
  return (await queryable.query<EndpointName>(OVERDUE, [lateMs])).rows;
}
