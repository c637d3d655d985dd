// SQL of anchors. Each statement is bound to one tenant, or to an agent that the transaction has locked. All times come
// from the database's clock.

import { existenceIn } from '../../platform/database/existence.ts';
import { NOW } from '../../platform/database/model.ts';
import { changed, done, many, one, only, paged } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { Given } from '../../platform/given.ts';
import { enqueueCommands } from '../../platform/temporal/enqueued-commands.ts';
import { type AgentPart, OF_AGENT } from '../agents/agent.ts';
import { ANCHOR } from './anchor.model.ts';
import { type Anchor, CHECKED_ONLY, PROOF_DAYS } from './anchor.ts';

export type AnchorFilters = Given<Pick<Anchor, 'type' | 'status'>>;

export type NewAnchorRow = Pick<Anchor, 'id' | 'tenantId' | 'agentId' | 'type' | 'value' | 'proof'>;

const COLUMNS = selectList(ANCHOR, columnNames(ANCHOR, CHECKED_ONLY));

const insertRow = changed<
  [id: string, tenantId: string, agentId: string, type: string, value: string, proof: string]
>(`
INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, created_at, expires_at, next_check_at)
VALUES ($1, $2, $3, $4, $5, $6, now(), now() + interval '${PROOF_DAYS} days', now() + interval '2 seconds')
ON CONFLICT (agent_id, type, value) WHERE status IN ('pending', 'verified') DO NOTHING
RETURNING id`);

/** @returns false when the agent already has a pending or verified anchor of this type and value */
export const insert = (unit: Transaction, row: NewAnchorRow): Promise<boolean> =>
  insertRow(unit, row.id, row.tenantId, row.agentId, row.type, row.value, row.proof);

/**
 * Marks an overdue anchor of the same type and value as failed, so that a new one can be created.
 * @returns the failed anchors, with the outcome of their latest check
 */
export const failOverdue = many<
  Pick<Anchor, 'id' | 'lastOutcome'>,
  [agentId: string, type: string, value: string]
>(`
UPDATE anchors SET status = 'failed'
WHERE agent_id = $1 AND type = $2 AND value = $3 AND status = 'pending' AND expires_at <= now()
RETURNING id, last_outcome`);

/**
 * Serializes the creation of anchors for a tenant's agents. Call it before an agent's row is locked. Otherwise
 * transactions that wait for this lock would delay the deletion of that agent.
 */
export const lockTenant = done<[tenantId: string]>(
  "SELECT pg_advisory_xact_lock(hashtextextended('anchors of ' || $1, 0))",
);

/** Counts the pending and verified anchors of an agent and of its tenant. Overdue anchors do not count. */
export const countLive = only<{ ofAgent: number; ofTenant: number }, [tenantId: string, agentId: string]>(`
SELECT (count(*) FILTER (WHERE agent_id = $2))::int AS of_agent,
  (count(*) FILTER (WHERE status = 'verified' OR expires_at > now()))::int AS of_tenant
FROM anchors WHERE tenant_id = $1 AND status IN ('pending', 'verified')`);

export const find = one<Anchor, [tenantId: string, agentId: string, id: string]>(
  `SELECT ${COLUMNS} FROM anchor_records WHERE id = $3 AND agent_id = $2 AND tenant_id = $1`,
);

export const exists = existenceIn<[agentId: string]>('anchors', OF_AGENT);

export const list = paged<
  Anchor,
  [tenantId: string, agentId: string, type: Anchor['type'] | undefined, status: Anchor['status'] | undefined]
>(`
SELECT ${COLUMNS} FROM anchor_records
WHERE tenant_id = $3 AND agent_id = $4 AND ($1::uuid IS NULL OR id < $1) AND ($5::text IS NULL OR type = $5)
  AND ($6::text IS NULL OR status = $6)
ORDER BY id DESC LIMIT $2`);

/** Locks an anchor until the transaction ends. An unknown anchor is ignored. */
export async function lock(transaction: Transaction, { tenantId, agentId, id }: AgentPart): Promise<void> {
  await transaction.model(ANCHOR).lock({ id, agentId, tenantId }, 'UPDATE');
}

/** Revokes an anchor that the transaction has locked. */
export async function revoke(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(ANCHOR).change(id, { status: 'revoked', revokedAt: NOW });
}

/** Revokes the live anchors of an agent that this transaction deletes, and enqueues signals to their workflows. */
export const revokeAll = done<[agentId: string]>(`
WITH ended AS (
  UPDATE anchors SET status = 'revoked', revoked_at = now()
  WHERE agent_id = $1 AND (status = 'verified' OR status = 'pending' AND expires_at > now())
  RETURNING tenant_id, id
)
${enqueueCommands('anchorVerification', 'ended')}`);
