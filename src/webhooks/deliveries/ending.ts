// The text by which every statement ends deliveries without an attempt. It deletes their unclaimed rows of the outbox,
// and enqueues commands for their workflows. A claimed row stays: its relay finds that the delivery has ended.

type Ending = {
  /** A query that gives `id` of unfinished deliveries, locked in id order, as in all statements that lock several. */
  readonly target: string;
  readonly status?: string;
  /** More that is written into `deliveries d` from `target t`. */
  readonly more?: string;
  /** What the statement gives of `changed`. */
  readonly answer: string;
};

/** Makes the statement that ends the deliveries of `target`, as canceled where nothing else is said. */
export const endingStatement = ({ target, status = `'canceled'`, more = '', answer }: Ending): string => `
WITH target AS (${target}), changed AS (
  UPDATE deliveries d SET status = ${status}, completed_at = now(), next_attempt_at = NULL, waiting_epoch = NULL,
    needs_workflow = false${more}
  FROM target t WHERE d.id = t.id AND d.status IN ('pending', 'retrying')
  RETURNING d.id, d.tenant_id, d.subscription_id, d.event_id, d.event_type, d.test, d.generation, d.started_generation
), dropped AS (
  DELETE FROM outbox WHERE id IN (
    SELECT o.id FROM outbox o JOIN changed c ON c.id = o.delivery_id
    WHERE o.claimed_by IS NULL AND o.kind <> 'command' FOR UPDATE OF o SKIP LOCKED)
), commands AS (
  INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, generation, kind, command)
  SELECT gen_random_uuid(), c.tenant_id, c.subscription_id, c.id, c.generation, 'command', 'cancel'
  FROM changed c WHERE c.started_generation = c.generation
)
${answer}`;
