// SQL of anchors. Each statement is bound to one tenant, or to an agent that the transaction has locked. All times come
// from the database's clock.

import { existenceIn } from '../../platform/database/existence.ts';
import { NOW } from '../../platform/database/model.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { Given } from '../../platform/given.ts';
import { enqueueCommands } from '../../platform/temporal/enqueued-commands.ts';
import { type AgentPart, OF_AGENT } from '../agents/agent.ts';
import { ANCHOR } from './anchor.model.ts';
import { type Anchor, CHECKED_ONLY, PROOF_DAYS } from './anchor.ts';

export type AnchorFilters = Given<Pick<Anchor, 'type' | 'status'>>;

export type NewAnchorRow = Pick<Anchor, 'id' | 'tenantId' | 'agentId' | 'type' | 'value' | 'proof'>;

const COLUMNS = selectList(ANCHOR, columnNames(ANCHOR, CHECKED_ONLY));

const INSERT = `
INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, created_at, expires_at, next_check_at)
VALUES ($1, $2, $3, $4, $5, $6, now(), now() + $7 * interval '1 day', now() + interval '2 seconds')
ON CONFLICT (agent_id, type, value) WHERE status IN ('pending', 'verified') DO NOTHING
RETURNING id`;

const COUNT_LIVE = `
SELECT (count(*) FILTER (WHERE agent_id = $2))::int AS "ofAgent",
  (count(*) FILTER (WHERE status = 'verified' OR expires_at > now()))::int AS "ofTenant"
FROM anchors WHERE tenant_id = $1 AND status IN ('pending', 'verified')`;

/** Also enqueues a signal to the workflow of each revoked anchor. */
const REVOKE_ALL = `
WITH ended AS (
  UPDATE anchors SET status = 'revoked', revoked_at = now()
  WHERE agent_id = $1 AND (status = 'verified' OR status = 'pending' AND expires_at > now())
  RETURNING tenant_id, id
)
${enqueueCommands('anchorVerification', 'ended')}`;

const LIST = `
SELECT ${COLUMNS} FROM anchor_records
WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR id < $3) AND ($4::text IS NULL OR type = $4)
  AND ($5::text IS NULL OR status = $5)
ORDER BY id DESC LIMIT $6`;

/** @returns false when the agent already has a pending or verified anchor of this type and value */
export async function insert(unit: Transaction, row: NewAnchorRow): Promise<boolean> {
  const { id, tenantId, agentId, type, value, proof } = row;
  const values = [id, tenantId, agentId, type, value, proof, PROOF_DAYS];
  const { rows } = await unit.query<{ id: string }>(INSERT, values);
  return rows.length > 0;
}

/**
 * Marks an overdue anchor of the same type and value as failed, so that a new one can be created.
 * @returns the failed anchors, with the outcome of their latest check
 */
export async function failOverdue(
  unit: Transaction,
  { agentId, type, value }: Pick<Anchor, 'agentId' | 'type' | 'value'>,
): Promise<{ id: string; lastOutcome: string | null }[]> {
  const { rows } = await unit.query<{ id: string; lastOutcome: string | null }>(
    `UPDATE anchors SET status = 'failed'
         WHERE agent_id = $1 AND type = $2 AND value = $3 AND status = 'pending' AND expires_at <= now()
         RETURNING id, last_outcome AS "lastOutcome"`,
    [agentId, type, value],
  );
  return rows;
}

/**
 * Serializes the creation of anchors for a tenant's agents. Call it before an agent's row is locked. Otherwise
 * transactions that wait for this lock would delay the deletion of that agent.
 */
export async function lockTenant(unit: Transaction, tenantId: string): Promise<void> {
  await unit.query("SELECT pg_advisory_xact_lock(hashtextextended('anchors of ' || $1, 0))", [tenantId]);
}

/** Counts the pending and verified anchors of an agent and of its tenant. Overdue anchors do not count. */
export async function countLive(
  queryable: Queryable,
  { tenantId, agentId }: Pick<AgentPart, 'tenantId' | 'agentId'>,
): Promise<{ ofAgent: number; ofTenant: number }> {
  const { rows } = await queryable.query<{ ofAgent: number; ofTenant: number }>(COUNT_LIVE, [
    tenantId,
    agentId,
  ]);
  return rows[0] ?? { ofAgent: 0, ofTenant: 0 };
}

export async function find(
  queryable: Queryable,
  { tenantId, agentId, id }: AgentPart,
): Promise<Anchor | undefined> {
  const { rows } = await queryable.query<Anchor>(
    `SELECT ${COLUMNS} FROM anchor_records WHERE id = $1 AND agent_id = $2 AND tenant_id = $3`,
    [id, agentId, tenantId],
  );
  return rows[0];
}

export const exists = existenceIn<[agentId: string]>('anchors', OF_AGENT);

/** Lists anchors, newest first. */
export async function list(
  queryable: Queryable,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  { limit, cursor, type, status }: PageRequest & AnchorFilters,
): Promise<Page<Anchor>> {
  const filters = [cursor, type, status].map((value) => value ?? null);
  const { rows } = await queryable.query<Anchor>(LIST, [tenantId, agentId, ...filters, limit + 1]);
  return toPage(rows, limit);
}

/** Locks an anchor until the transaction ends. An unknown anchor is ignored. */
export async function lock(transaction: Transaction, { tenantId, agentId, id }: AgentPart): Promise<void> {
  await transaction.model(ANCHOR).lock({ id, agentId, tenantId }, 'UPDATE');
}

/** Revokes an anchor that the transaction has locked. */
export async function revoke(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(ANCHOR).change(id, { status: 'revoked', revokedAt: NOW });
}

/** Revokes the live anchors of an agent that this transaction deletes, and enqueues signals to their workflows. */
export async function revokeAll(unit: Transaction, agentId: string): Promise<void> {
  await unit.query(REVOKE_ALL, [agentId]);
}
