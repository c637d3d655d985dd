// The rows of deliveries: the texts by which statements of several rooms insert and change them. Pure.
import { leaveCrowd } from './crowd.ts';
import { dropUnclaimed, enqueue } from './outbox.ts';

/** Whether the workflow of the delivery `d` makes its next attempt: one that runs, or one that is about to start. */
export const OWN_WORKFLOW = '(d.needs_workflow OR d.started_generation IS NOT DISTINCT FROM d.generation)';

/** What each end writes beside the status. */
export const ENDED =
  'completed_at = now(), next_attempt_at = NULL, waiting_epoch = NULL, needs_workflow = false';

/**
 * Inserts deliveries that are due now.
 * @param from has `delivery_id` and `subscription_id`, and columns of the event
 */
export const insertDeliveries = (from: string) => `
INSERT INTO deliveries (id, tenant_id, subscription_id, event_row, event_id, event_type, test, trace, next_attempt_at)
SELECT delivery_id, tenant_id, subscription_id, id, event_id, type, test, trace, now()
FROM ${from}
ON CONFLICT DO NOTHING
RETURNING id, tenant_id, subscription_id`;

/**
 * Ends deliveries whose attempt got a 2xx.
 * @param from has `id`, and `n`, `status_code` and `workflow` of the attempt
 * @param within bounds of the ids, so that only their partitions are opened
 */
export const deliver = (from: string, within: string) => `
UPDATE deliveries d SET status = 'delivered', attempt_count = greatest(d.attempt_count, t.n), next_attempt_at = NULL,
  needs_workflow = false, waiting_epoch = NULL, retry_requested_at = NULL, last_status_code = t.status_code, last_error = NULL,
  completed_at = CASE WHEN d.status = 'delivered' THEN d.completed_at ELSE now() END,
  started_generation = greatest(d.started_generation, t.workflow)
FROM ${from} t
WHERE ${within} AND d.id = t.id AND (d.status <> 'delivered' OR d.attempt_count < t.n)`;

/** Makes woken deliveries due, unless they wait again. @param own the rows of the outbox that were handed over */
export const wake = (from: string, within: string, own: string) => `
UPDATE deliveries d SET waiting_epoch = NULL, next_attempt_at = now() FROM ${from} t
WHERE ${within} AND d.id = t.id AND t.kind = 'wake' AND NOT EXISTS (
  SELECT 1 FROM outbox o WHERE o.delivery_id = d.id AND o.kind = 'wake' AND o.id NOT IN (SELECT id FROM ${own}))`;

/** Notes the workflows that were started. */
export const markStarted = (from: string, within: string) => `
UPDATE deliveries d SET started_generation = t.generation, needs_workflow = false FROM ${from} t
WHERE ${within} AND d.id = t.id AND t.kind IN ('first', 'start')
RETURNING d.id, d.tenant_id, d.subscription_id, d.generation, d.retry_requested_at, d.status`;

/**
 * Makes deliveries due now. An ended one begins anew: it gets a new generation, which needs a workflow.
 * @param from has `id` and `ended`
 */
export const beginAgain = (from: string) => `
UPDATE deliveries d SET
  next_attempt_at = now(),
  retry_requested_at = CASE WHEN t.ended THEN NULL ELSE now() END,
  generation = d.generation + CASE WHEN t.ended THEN 1 ELSE 0 END,
  status = CASE WHEN NOT t.ended THEN d.status WHEN d.attempt_count > 0 THEN 'retrying' ELSE 'pending' END,
  failed_attempts = CASE WHEN t.ended THEN 0 ELSE d.failed_attempts END,
  waiting_epoch = CASE WHEN t.ended THEN NULL ELSE d.waiting_epoch END,
  needs_workflow = d.needs_workflow AND NOT t.ended,
  completed_at = CASE WHEN t.ended THEN NULL ELSE d.completed_at END
FROM ${from} t WHERE d.id = t.id
RETURNING d.id, d.tenant_id, d.subscription_id, d.generation, d.started_generation, t.ended`;

type Ending = {
  /** A query that gives `id` of unfinished deliveries, locked in id order, as in all statements that lock several. */
  readonly target: string;
  readonly status?: string;
  /** More that is written into `deliveries d` from `target t`. */
  readonly more?: string;
  /** What the statement gives of `changed`. */
  readonly answer: string;
};

/**
 * The statement by which deliveries end without an attempt, as canceled where nothing else is said. It removes their
 * unclaimed rows of the outbox and of crowds, and enqueues commands for their workflows.
 */
export const endingStatement = ({ target, status = `'canceled'`, more = '', answer }: Ending): string => `
WITH target AS (${target}), changed AS (
  UPDATE deliveries d SET status = ${status}, ${ENDED}${more}
  FROM target t WHERE d.id = t.id AND d.status IN ('pending', 'retrying')
  RETURNING d.id, d.tenant_id, d.subscription_id, d.event_id, d.event_type, d.test, d.generation, d.started_generation
), dropped AS (${dropUnclaimed('changed', `o.kind <> 'command'`)}
), left_crowd AS (${leaveCrowd('changed')}
), commands AS (${enqueue({
  kind: `'command'`,
  command: `'cancel'`,
  from: 'changed WHERE started_generation = generation',
})}
)
${answer}`;
