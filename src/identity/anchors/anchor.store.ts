// All SQL of anchors. Every statement is bound to one tenant, or to an agent that the transaction holds; every judgement of time is the database's.

import { NOW } from '../../platform/database/model.ts';
import { decodeCursor, type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ANCHOR } from './anchor.model.ts';
import { type Anchor, type AnchorStatus, type AnchorType, PROOF_DAYS } from './anchor.ts';

export type AnchorFilters = {
  readonly type?: AnchorType | undefined;
  readonly status?: AnchorStatus | undefined;
};

export type NewAnchorRow = Pick<Anchor, 'id' | 'tenantId' | 'agentId' | 'type' | 'value' | 'proof'>;

/** Names one anchor: an id of another agent or tenant finds nothing. */
export type AnchorName = { readonly tenantId: string; readonly agentId: string; readonly id: string };

const COLUMNS = selectList(ANCHOR, [
  'id',
  'tenantId',
  'agentId',
  'type',
  'value',
  'status',
  'proof',
  'expiresAt',
  'verifiedAt',
  'revokedAt',
  'createdAt',
  'nextCheckAt',
  'lastCheckedAt',
  'lastOutcome',
  'missingSince',
] satisfies (keyof Anchor)[]);

const INSERT = `
INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, created_at, expires_at, next_check_at)
VALUES ($1, $2, $3, $4, $5, $6, now(), now() + $7 * interval '1 day', now() + interval '2 seconds')
ON CONFLICT (agent_id, type, value) WHERE status IN ('pending', 'verified') DO NOTHING
RETURNING id`;

const COUNT_LIVE = `
SELECT (count(*) FILTER (WHERE agent_id = $2))::int AS "ofAgent",
  (count(*) FILTER (WHERE status = 'verified' OR expires_at > now()))::int AS "ofTenant"
FROM anchors WHERE tenant_id = $1 AND status IN ('pending', 'verified')`;

/** The workflows of those that end hear of it. */
const REVOKE_ALL = `
WITH ended AS (
  UPDATE anchors SET status = 'revoked', revoked_at = now()
  WHERE agent_id = $1 AND (status = 'verified' OR status = 'pending' AND expires_at > now())
  RETURNING tenant_id, id
)
INSERT INTO workflow_commands (tenant_id, workflow, entity_id) SELECT tenant_id, 'anchorVerification', id FROM ended`;

const LIST = `
SELECT ${COLUMNS} FROM anchor_records
WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR id < $3) AND ($4::text IS NULL OR type = $4)
  AND ($5::text IS NULL OR status = $5)
ORDER BY id DESC LIMIT $6`;

/** @returns false when the agent has a pending or verified anchor of this type and value */
export async function insert(unit: Transaction, row: NewAnchorRow): Promise<boolean> {
  const { id, tenantId, agentId, type, value, proof } = row;
  const values = [id, tenantId, agentId, type, value, proof, PROOF_DAYS];
  const { rows } = await unit.query<{ id: string }>(INSERT, values);
  return rows.length > 0;
}

/**
 * Writes down that the proof of a like anchor was not found in time, so that it does not stand in the way of a new one.
 * @returns what has failed, with the outcome of its latest look
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
 * Lets one transaction at a time give a tenant's agents anchors, until it ends. It is taken before any agent's row: whoever deletes
 * an agent waits for those that hold it.
 */
export async function lockTenant(unit: Transaction, tenantId: string): Promise<void> {
  await unit.query("SELECT pg_advisory_xact_lock(hashtextextended('anchors of ' || $1, 0))", [tenantId]);
}

/** Pending and verified anchors of an agent, and of all of its tenant's agents less those whose time is over. */
export async function countLive(
  queryable: Queryable,
  { tenantId, agentId }: Pick<AnchorName, 'tenantId' | 'agentId'>,
): Promise<{ ofAgent: number; ofTenant: number }> {
  const { rows } = await queryable.query<{ ofAgent: number; ofTenant: number }>(COUNT_LIVE, [
    tenantId,
    agentId,
  ]);
  return rows[0] ?? { ofAgent: 0, ofTenant: 0 };
}

export async function find(
  queryable: Queryable,
  { tenantId, agentId, id }: AnchorName,
): Promise<Anchor | undefined> {
  const { rows } = await queryable.query<Anchor>(
    `SELECT ${COLUMNS} FROM anchor_records WHERE id = $1 AND agent_id = $2 AND tenant_id = $3`,
    [id, agentId, tenantId],
  );
  return rows[0];
}

/** Whether the anchor and its agent are there. One indexed read. */
export async function exists(queryable: Queryable, { tenantId, agentId, id }: AnchorName): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `SELECT 1 FROM anchors anchor JOIN agents agent ON agent.id = anchor.agent_id
         WHERE anchor.id = $1 AND anchor.agent_id = $2 AND anchor.tenant_id = $3 AND agent.deleted_at IS NULL`,
    [id, agentId, tenantId],
  );
  return rowCount > 0;
}

/** The newest first. @throws ServiceError `invalid_request` for a foreign cursor */
export async function list(
  queryable: Queryable,
  { tenantId, agentId }: Omit<AnchorName, 'id'>,
  { limit, cursor, type, status }: PageRequest & AnchorFilters,
): Promise<Page<Anchor>> {
  const filters = [decodeCursor(cursor), type, status].map((value) => value ?? null);
  const { rows } = await queryable.query<Anchor>(LIST, [tenantId, agentId, ...filters, limit + 1]);
  return toPage(rows, limit);
}

/** Locks an anchor until the transaction ends; nothing happens for an unknown one. */
export async function lock(transaction: Transaction, { tenantId, agentId, id }: AnchorName): Promise<void> {
  await transaction.model(ANCHOR).lock({ id, agentId, tenantId }, 'UPDATE');
}

/** Revokes an anchor that the transaction has locked. */
export async function revoke(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(ANCHOR).change(id, { status: 'revoked', revokedAt: NOW });
}

/** Revokes what is pending or verified of an agent that is deleted in this transaction, and tells the workflows. */
export async function revokeAll(unit: Transaction, agentId: string): Promise<void> {
  await unit.query(REVOKE_ALL, [agentId]);
}
