// SQL for the checks of anchors' proofs. Each statement on one anchor is bound to its tenant. All times come from the
// database's clock.
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { countBy, listBy } from '../../platform/temporal/expected-workflows.ts';
import { ANCHOR, type AnchorRow } from './anchor.model.ts';
import { FOUND, LEAST_PAUSE_MS, type LookEffect } from './anchor-check.ts';

export type CheckedAnchor = { readonly tenantId: string; readonly id: string };

/** An anchor as it is stored at `now`. `checks` counts the recorded checks. */
export type AnchorCase = AnchorRow & { readonly now: Date };

/** Reads the stored status, so an overdue anchor is still `pending` here. Anchors of deleted agents are left out. */
const READ = `
SELECT now()::timestamptz(3) AS now, ${selectList(ANCHOR, columnNames(ANCHOR), { of: 'anchor' })}
FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.id = $1 AND anchor.tenant_id = $2 AND agent.deleted_at IS NULL`;

const RECORD = `
UPDATE anchors SET checks = checks + 1, last_checked_at = now(), last_outcome = $2,
  last_found_at = CASE WHEN $2 = '${FOUND}' THEN now() ELSE last_found_at END,
  status = $3, misses = $4, missing_since = $5, next_check_at = now() + $6::float8 * interval '1 millisecond',
  verified_at = CASE WHEN $3 = 'verified' THEN coalesce(verified_at, now()) ELSE verified_at END,
  revoked_at = CASE WHEN $3 = 'revoked' THEN now() END
WHERE id = $1`;

/** A request makes the next check earlier, never later. */
const REQUEST = `
UPDATE anchors SET requested_at = now(), next_check_at = least(next_check_at, greatest(now(),
  coalesce(last_checked_at + $4::float8 * interval '1 millisecond', now())))
WHERE id = $1 AND tenant_id = $2 AND (status = 'verified' OR status = 'pending' AND expires_at > now()) AND ($3::uuid IS NULL OR agent_id = $3)`;

const EXPECTED = `
SELECT anchor.tenant_id AS "tenantId", anchor.id AS "entityId"
FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.status IN ('pending', 'verified') AND agent.deleted_at IS NULL AND anchor.id > $1
ORDER BY anchor.id LIMIT $2`;

const OVERDUE = `
SELECT count(*)::int AS count FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
WHERE anchor.status IN ('pending', 'verified') AND agent.deleted_at IS NULL
  AND least(anchor.next_check_at, CASE anchor.status WHEN 'pending' THEN anchor.expires_at END) < now() - interval '5 minutes'`;

/** @returns undefined for an unknown anchor, and for an anchor whose agent is deleted */
export async function read(
  queryable: Queryable,
  { tenantId, id }: CheckedAnchor,
): Promise<AnchorCase | undefined> {
  const { rows } = await queryable.query<AnchorCase>(READ, [id, tenantId]);
  return rows[0];
}

/** Locks an anchor until the transaction ends. */
export async function lock(unit: Transaction, { tenantId, id }: CheckedAnchor): Promise<void> {
  await unit.query('SELECT id FROM anchors WHERE id = $1 AND tenant_id = $2 FOR UPDATE', [id, tenantId]);
}

/** Records a check and its effect. The transaction has locked the anchor. */
export async function record(
  unit: Transaction,
  id: string,
  outcome: string,
  effect: LookEffect,
): Promise<void> {
  const { status, misses, missingSince, delayMs } = effect;
  await unit.query(RECORD, [id, outcome, status, misses, missingSince, delayMs]);
}

/** Marks a pending anchor as failed. The transaction has locked the anchor. */
export async function fail(unit: Transaction, id: string): Promise<void> {
  await unit.query(`UPDATE anchors SET status = 'failed' WHERE id = $1 AND status = 'pending'`, [id]);
}

/**
 * Makes the next check earlier: `LEAST_PAUSE_MS` after the latest check, or now.
 * @param options.agentId changes the anchor only if it belongs to this agent
 * @param options.atOnce ignores the pause after the latest check
 * @returns false when the anchor is unknown or has ended
 */
export async function request(
  unit: Transaction,
  { tenantId, id }: CheckedAnchor,
  { agentId, atOnce = false }: { agentId?: string; atOnce?: boolean } = {},
): Promise<boolean> {
  const pause = atOnce ? 0 : LEAST_PAUSE_MS;
  const { rowCount } = await unit.query(REQUEST, [id, tenantId, agentId ?? null, pause]);
  return rowCount > 0;
}

/** Counts the anchors whose check or end has been due for more than 5 minutes. */
export const countOverdue = countBy(OVERDUE);

/** Lists the anchors whose workflow anchorVerification should be running: pending and verified ones. */
export const listExpectedWorkflows = listBy(EXPECTED);
