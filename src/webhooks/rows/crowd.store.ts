// SQL of crowds. Who lets a delivery join or leave one for its time has locked its endpoint before, so that the
// workflow of the endpoint misses none.
// docs/decisions/0043-crowds.md

import { boundsOf } from '../../platform/database/partitions.ts';
import { counted, many, value } from '../../platform/database/statements.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { EndpointName } from '../endpoints/endpoint-state.ts';
import { attemptCrowded, leaveCrowd } from './crowd.ts';
import { CROWDED } from './leftovers.ts';

/** Lists endpoints whose workflow has not released their crowd for `lateSeconds`, and which no command calls. */
export const overdueCrowds = many<EndpointName, [lateSeconds: number]>(`
SELECT DISTINCT c.tenant_id, c.subscription_id ${CROWDED} AND c.due_at < now() - $1::float8 * interval '1 second'
  AND NOT EXISTS (SELECT 1 FROM workflow_commands w WHERE w.workflow = 'endpointRecovery' AND w.entity_id = c.subscription_id)`);

/** Enqueues the attempts of the deliveries that are due. @returns how many, at most `limit` */
export const releaseCrowd = counted<[subscriptionId: string, limit: number]>(`
WITH due AS (
  SELECT delivery_id AS id, tenant_id, subscription_id, generation FROM crowded_deliveries
  WHERE subscription_id = $1 AND due_at <= now() ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED
), released AS (${leaveCrowd('due')}
)
${attemptCrowded('due')}`);

// Joining removes the row of the outbox of the attempt that has failed.
const join = value<Date | null, [least: string, greatest: string, ids: readonly string[]]>(`
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
SELECT min(due_at) AS due FROM joined`);

/** Lets deliveries wait in the crowd of their endpoint. @returns the time of the earliest of them */
export function joinCrowd(unit: Transaction, ids: readonly string[]): Promise<Date | null> {
  return join(unit, ...boundsOf(ids), ids);
}

/** @returns when the first delivery of the crowd is due; null without a crowd */
export const earliestOfCrowd = value<Date | null, [subscriptionId: string]>(
  'SELECT min(due_at) AS due FROM crowded_deliveries WHERE subscription_id = $1',
);
