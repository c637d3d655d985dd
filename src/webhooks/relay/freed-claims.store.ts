// SQL that gives claims of a relay back.

/**
 * Frees claims. No relay reads the rows of a closed endpoint but commands, so the row of a delivery that has ended
 * meanwhile becomes one. A `first` row of a delivery that was tried since its claim is for a workflow.
 * @param claims selects `id` and `tried`, and locks the rows
 */
export const free = (claims: string) => `
WITH claims AS (${claims}), judged AS (
  SELECT o.id, CASE
    WHEN o.kind <> 'command' AND NOT EXISTS (
      SELECT 1 FROM deliveries d WHERE d.id = o.delivery_id AND d.status IN ('pending', 'retrying')) THEN 'command'
    WHEN o.kind = 'first' AND c.tried THEN 'start' ELSE o.kind END AS kind
  FROM claims c JOIN outbox o ON o.id = c.id
)
UPDATE outbox o SET claimed_by = NULL, claim_epoch = NULL, kind = j.kind,
  rank = CASE WHEN o.kind = 'first' AND j.kind = 'start' THEN 1 ELSE o.rank END,
  command = CASE WHEN j.kind = 'command' THEN coalesce(o.command, 'cancel') END
FROM judged j WHERE o.id = j.id`;
