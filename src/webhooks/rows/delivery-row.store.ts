// SQL that changes single deliveries: what a failed attempt, a wait, an end and a lost workflow mean for the row.
import { columnsOf } from '../../platform/columns.ts';
import { boundsOf } from '../../platform/database/partitions.ts';
import { changed, many } from '../../platform/database/statements.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { EndpointName } from '../endpoints/endpoint-state.ts';
import { attemptCrowded, leaveCrowd } from './crowd.ts';
import { ENDED, endingStatement } from './delivery-row.ts';
import { dropUnclaimed, enqueue, RANK_OF_RETRY } from './outbox.ts';

/** A failed attempt, and its consequence. `delayMs` is null when the delivery has ended. */
export type FailureRecord = {
  readonly deliveryId: string;
  readonly n: number;
  readonly startedAt: Date | string;
  readonly statusCode: number | null;
  readonly error: string;
  readonly status: 'retrying' | 'failed';
  readonly failedAttempts: number;
  readonly delayMs: number | null;
  readonly needsWorkflow: boolean;
  readonly workflow: number | null;
};

const FAILURE = columnsOf<FailureRecord>({
  uuid: ['deliveryId'],
  text: ['status', 'error'],
  int: ['n', 'statusCode', 'failedAttempts', 'workflow'],
  float8: ['delayMs'],
  boolean: ['needsWorkflow'],
  timestamptz: ['startedAt'],
});

// The column rounds to whole milliseconds. Half a millisecond is added so that no attempt begins early.
const noteFailed = changed<
  [least: string, greatest: string, ids: readonly string[], ...columns: unknown[][]]
>(`
UPDATE deliveries d SET status = f.status, failed_attempts = f.failed_attempts, attempt_count = greatest(d.attempt_count, f.n),
  next_attempt_at = clock_timestamp() + (f.delay_ms + 0.5) * interval '1 millisecond',
  completed_at = CASE WHEN f.status = 'failed' THEN now() END,
  waiting_epoch = NULL, needs_workflow = f.needs_workflow, last_status_code = f.status_code, last_error = f.error,
  retry_requested_at = CASE WHEN d.retry_requested_at > f.started_at AND f.status <> 'failed' THEN d.retry_requested_at END,
  started_generation = greatest(d.started_generation, f.workflow)
FROM ${FAILURE.from('f', 4)} WHERE d.id = ANY($3::uuid[]) AND d.id BETWEEN $1 AND $2 AND d.id = f.delivery_id`);

/** Records the consequences of failed attempts of different deliveries, which the caller has locked. */
export async function recordFailed(unit: Transaction, failures: readonly FailureRecord[]): Promise<void> {
  if (failures.length === 0) return;
  const ids = failures.map(({ deliveryId }) => deliveryId);
  await noteFailed(unit, ...boundsOf(ids), ids, ...FAILURE.of(failures));
}

/** Counts an attempt of a delivery that has ended or has a newer generation. */
export const countAttempt = changed<[deliveryId: string, n: number]>(
  'UPDATE deliveries SET attempt_count = greatest(attempt_count, $2) WHERE id = $1',
);

/**
 * Parks a delivery, and enqueues the row of the outbox that wakes it when its endpoint opens: a new row each time,
 * because a relay may be claiming the old one concurrently.
 * @returns false when the delivery has ended or has a newer generation
 */
export const park = changed<[deliveryId: string, generation: number, epoch: number, outboxId: string]>(`
WITH parked AS (
  UPDATE deliveries SET waiting_epoch = $3, next_attempt_at = NULL, started_generation = greatest(started_generation, $2)
  WHERE id = $1 AND generation = $2 AND status IN ('pending', 'retrying')
  RETURNING id, tenant_id, subscription_id, generation
), replaced AS (${dropUnclaimed('parked', `o.delivery_id = $1 AND o.kind = 'wake'`)}
)
${enqueue({ id: '$4', kind: `'wake'`, rank: RANK_OF_RETRY, from: 'parked' })}`);

/** Ends an unfinished delivery without an attempt; its own workflow, which knows of it, asks for that. */
export const end = changed<[deliveryId: string, status: 'canceled' | 'failed', error: string | null]>(`
UPDATE deliveries SET status = $2, ${ENDED}, last_error = coalesce($3, last_error)
WHERE id = $1 AND status IN ('pending', 'retrying')`);

const startNext = changed<[deliveryId: string, generation: number, outboxId: string]>(`
WITH next AS (
  UPDATE deliveries SET generation = generation + 1, waiting_epoch = NULL, next_attempt_at = coalesce(next_attempt_at, now())
  WHERE id = $1 AND generation = $2 AND started_generation = $2 AND status IN ('pending', 'retrying')
  RETURNING id, tenant_id, subscription_id, generation
)
${enqueue({ id: '$3', kind: `'start'`, rank: '1', from: 'next' })}`);

/** Enqueues a workflow of the next generation. @returns false when the delivery has ended or has a newer generation */
export const restart = (
  queryable: Queryable,
  { deliveryId, generation, outboxId }: { deliveryId: string; generation: number; outboxId: string },
): Promise<boolean> => startNext(queryable, deliveryId, generation, outboxId);

// Only deliveries that wait for their time become due now; pacing lets their attempts begin one by one. A delivery
// whose workflow is just being started gets a retry request instead of a command. The relay that marks it as started
// reads the request and enqueues the command. Deliveries are locked in id order.
const hastenPage = many<{ id: string }, [subscriptionIds: readonly string[], after: string, limit: number]>(`
WITH target AS (
  SELECT d.id FROM deliveries d
  WHERE d.subscription_id = ANY ($1::uuid[]) AND d.status = 'retrying' AND d.waiting_epoch IS NULL AND d.next_attempt_at > now()
    AND d.id > $2
  ORDER BY d.id LIMIT $3 FOR UPDATE
), changed AS (
  UPDATE deliveries d SET next_attempt_at = now(),
    retry_requested_at = CASE WHEN d.started_generation = d.generation OR EXISTS (
      SELECT 1 FROM crowded_deliveries c WHERE c.delivery_id = d.id) THEN d.retry_requested_at ELSE now() END
  FROM target t WHERE d.id = t.id
  RETURNING d.id, d.tenant_id, d.subscription_id, d.generation, d.started_generation
), left_crowd AS (${leaveCrowd('changed')}
), attempts AS (${attemptCrowded('(SELECT * FROM changed WHERE id IN (SELECT id FROM left_crowd)) AS crowded')}
), commands AS (${enqueue({
  kind: `'command'`,
  command: `'retry'`,
  from: 'changed WHERE started_generation = generation',
})}
)
SELECT id FROM changed ORDER BY id`);

/** A canceled delivery. `crowded`: it has left the crowd of its endpoint. */
export type CanceledDelivery = EndpointName & { readonly id: string; readonly crowded: boolean };

/** Cancels unfinished deliveries of subscriptions, however they wait. @returns those after `after`, at most `limit` */
export const cancelWaiting = many<
  CanceledDelivery,
  [subscriptionIds: readonly string[], after: string, limit: number]
>(
  endingStatement({
    target: `
  SELECT d.id FROM deliveries d
  WHERE d.subscription_id = ANY ($1::uuid[]) AND d.status IN ('pending', 'retrying') AND d.id > $2
  ORDER BY d.id LIMIT $3 FOR UPDATE`,
    answer: `
SELECT c.id, c.tenant_id, c.subscription_id, c.id IN (SELECT id FROM left_crowd) AS crowded
FROM changed c ORDER BY c.id`,
  }),
);

/** Makes waiting deliveries due now. @returns their ids after `after`, at most `limit` */
export async function hasten(
  unit: Queryable,
  subscriptionIds: readonly string[],
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  return (await hastenPage(unit, subscriptionIds, after, limit)).map(({ id }) => id);
}
