// The rows of the outbox, which are work for relays: the texts by which statements add, claim and remove them. Pure.

/** The values are SQL. `from` has the columns `id`, `tenant_id`, `subscription_id` and `generation` of deliveries. */
type Enqueued = {
  readonly from: string;
  readonly kind: string;
  readonly rank?: string;
  readonly command?: string;
  /** The id of the new row. */
  readonly id?: string;
  readonly generation?: string;
  /** The process that claims the new row, and its epoch. */
  readonly claim?: string;
};

/** Adds a row for each delivery of `from`. */
export const enqueue = ({
  from,
  kind,
  rank = '0',
  command = 'NULL',
  id = 'gen_random_uuid()',
  generation = 'generation',
  claim = 'NULL, NULL',
}: Enqueued) => `
INSERT INTO outbox (id, tenant_id, endpoint, delivery_id, generation, kind, rank, command, claimed_by, claim_epoch)
SELECT ${id}, tenant_id, subscription_id, id, ${generation}, ${kind}, ${rank}, ${command}, ${claim} FROM ${from}`;

/** The rank of a retry: a replay comes after a retry of the first generation. */
export const RANK_OF_RETRY = 'CASE WHEN generation > 0 THEN 2 ELSE 1 END';

/**
 * Removes the unclaimed rows `o` of deliveries. A relay that has claimed a row reads the delivery's present state.
 * @param from has the `id` of the deliveries
 * @param which narrows the rows
 */
export const dropUnclaimed = (from: string, which: string) => `
DELETE FROM outbox WHERE id IN (
  SELECT o.id FROM outbox o JOIN ${from} c ON c.id = o.delivery_id
  WHERE ${which} AND o.claimed_by IS NULL FOR UPDATE OF o SKIP LOCKED)`;

/** Removes the row of an attempt that a relay made without a workflow; it has its delivery's id. */
export const dropFirst = (from: string) => `
DELETE FROM outbox o USING ${from} t WHERE o.id = t.id AND o.kind = 'first' AND t.workflow IS NULL`;

/** Claims the rows of `picked` for the process $1 in its epoch $2, if it is alive. */
export const claimRows = (picked: string, alive: string) => `
UPDATE outbox SET claimed_by = $1, claim_epoch = $2 FROM ${picked} WHERE outbox.id = ${picked}.id AND ${alive}
RETURNING outbox.*`;

/**
 * Removes rows that the process $1 has handed over, if they are still its claims of the epoch $2.
 * @param from a source `w` with `id`, `mark` and `epoch` of the rows whose ids are $3
 */
export const removeClaimed = (from: string) => `
DELETE FROM outbox o USING ${from}
WHERE o.id = ANY($3::uuid[]) AND o.id = w.id AND o.claimed_by = $1 AND o.claim_epoch = $2
RETURNING o.id, o.delivery_id, o.generation, o.kind, w.mark, w.epoch`;

/**
 * Frees claims. No relay reads the rows of a closed endpoint but commands, so the row of a delivery that has ended
 * meanwhile becomes one. A `first` row of a delivery that needs a workflow since then starts it.
 * @param claims selects `id`, and locks the rows
 */
export const free = (claims: string) => `
WITH claims AS (${claims}), judged AS (
  SELECT o.id, CASE
    WHEN o.kind <> 'command' AND d.id IS NULL THEN 'command'
    WHEN o.kind = 'first' AND d.needs_workflow THEN 'start' ELSE o.kind END AS kind
  FROM claims c JOIN outbox o ON o.id = c.id
  LEFT JOIN LATERAL (SELECT id, needs_workflow FROM deliveries
    WHERE deliveries.id = o.delivery_id AND status IN ('pending', 'retrying') OFFSET 0) AS d ON true
)
UPDATE outbox o SET claimed_by = NULL, claim_epoch = NULL, kind = j.kind,
  rank = CASE WHEN o.kind = 'first' AND j.kind = 'start' THEN 1 ELSE o.rank END,
  command = CASE WHEN j.kind = 'command' THEN coalesce(o.command, 'cancel') END
FROM judged j WHERE o.id = j.id`;
