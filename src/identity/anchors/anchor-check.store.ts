// SQL for the checks of anchors' proofs. Each statement on one anchor is bound to its tenant. All times come from the
// database's clock.
import { countBreaches } from '../../platform/database/breach.ts';
import { changed, done, one } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { listBy } from '../../platform/temporal/expected-workflows.ts';
import { ANCHOR, type AnchorRow } from './anchor.model.ts';
import { FOUND, type LookEffect } from './anchor-check.ts';

export type CheckedAnchor = { readonly tenantId: string; readonly id: string };

/** An anchor as it is stored at `now`. `checks` counts the recorded checks. */
export type AnchorCase = AnchorRow & { readonly now: Date };

const readCase = one<AnchorCase, [tenantId: string, id: string]>(`
SELECT now()::timestamptz(3) AS now, ${selectList(ANCHOR, columnNames(ANCHOR), { of: 'anchor' })}
FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.id = $2 AND anchor.tenant_id = $1 AND agent.deleted_at IS NULL`);

/**
 * Reads the stored status, so an overdue anchor is still `pending` here.
 * @returns undefined for an unknown anchor, and for an anchor whose agent is deleted
 */
export const read = (queryable: Queryable, { tenantId, id }: CheckedAnchor) =>
  readCase(queryable, tenantId, id);

/** Locks an anchor until the transaction ends. */
export const lock = done<[tenantId: string, id: string]>(
  'SELECT id FROM anchors WHERE id = $2 AND tenant_id = $1 FOR UPDATE',
);

/** Records a check and its effect. The transaction has locked the anchor. */
export const record = done<
  [
    id: string,
    outcome: string,
    status: LookEffect['status'],
    misses: number,
    missingSince: Date | null,
    delayMs: number,
  ]
>(`
UPDATE anchors SET checks = checks + 1, last_checked_at = now(), last_outcome = $2,
  last_found_at = CASE WHEN $2 = '${FOUND}' THEN now() ELSE last_found_at END,
  status = $3, misses = $4, missing_since = $5, next_check_at = now() + $6::float8 * interval '1 millisecond',
  verified_at = CASE WHEN $3 = 'verified' THEN coalesce(verified_at, now()) ELSE verified_at END,
  revoked_at = CASE WHEN $3 = 'revoked' THEN now() END
WHERE id = $1`);

/** Marks a pending anchor as failed. The transaction has locked the anchor. */
export const fail = done<[id: string]>(
  `UPDATE anchors SET status = 'failed' WHERE id = $1 AND status = 'pending'`,
);

/**
 * Makes the next check earlier, never later: `pauseMs` after the latest check, or now.
 * @returns false when the anchor is unknown, is of another agent than `agentId`, or has ended
 */
export const request = changed<[tenantId: string, id: string, pauseMs: number, agentId: string | undefined]>(`
UPDATE anchors SET requested_at = now(), next_check_at = least(next_check_at, greatest(now(),
  coalesce(last_checked_at + $3::float8 * interval '1 millisecond', now())))
WHERE id = $2 AND tenant_id = $1 AND (status = 'verified' OR status = 'pending' AND expires_at > now()) AND ($4::uuid IS NULL OR agent_id = $4)`);

/** Anchors whose check or end is due. */
export const findOverdue = countBreaches(
  `least(anchor.next_check_at, CASE anchor.status WHEN 'pending' THEN anchor.expires_at END)`,
  `FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.status IN ('pending', 'verified') AND agent.deleted_at IS NULL`,
);

/** Lists the anchors whose workflow anchorVerification should be running: pending and verified ones. */
export const listExpectedWorkflows = listBy(`
SELECT anchor.tenant_id, anchor.id AS entity_id
FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.status IN ('pending', 'verified') AND agent.deleted_at IS NULL AND anchor.id > $1
ORDER BY anchor.id LIMIT $2`);
