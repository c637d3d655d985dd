// SQL of enrollment tokens. Statements receive a token's hash, never its text. All times come from the database's
// clock.

import { deleteOldest } from '../../platform/database/deletion.ts';
import { NOW } from '../../platform/database/model.ts';
import { type Page, type PageRequest, toPage } from '../../platform/database/page.ts';
import { selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { usedInTime } from '../../platform/database/used-in-time.ts';
import type { AgentPart } from '../agents/agent.ts';
import { ENROLLMENT_TOKEN } from './enrollment.model.ts';
import {
  ENROLLMENT_LIFETIME,
  type EnrollmentToken,
  OPEN,
  type PresentedToken,
  REVOKED_AT,
} from './enrollment.ts';

/** `readAt` is the database's time of the read. */
export type StoredEnrollmentToken = EnrollmentToken & { readonly readAt: Date };

const READ = selectList(
  ENROLLMENT_TOKEN,
  ['id', 'tenantId', 'agentId', 'createdAt', 'expiresAt', 'usedAt', 'keyId'],
  { of: 'token' },
);

const COLUMNS = `${READ}, ${REVOKED_AT} AS "revokedAt", now() AS "readAt"`;

const LIST = `
SELECT ${COLUMNS} FROM enrollment_tokens token
WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR id < $3) ORDER BY id DESC LIMIT $4`;

const FIND_PRESENTED = `
SELECT ${COLUMNS}, agent.status, agent.deleted_at IS NOT NULL AS "isDeleted"
FROM enrollment_tokens token JOIN agents agent ON agent.id = token.agent_id
WHERE token.hash = $1 AND token.tenant_id = $2`;

export async function insert(
  unit: Transaction,
  token: { id: string; tenantId: string; agentId: string; hash: Uint8Array },
): Promise<StoredEnrollmentToken> {
  const { rows } = await unit.query<StoredEnrollmentToken>(
    `INSERT INTO enrollment_tokens AS token (id, tenant_id, agent_id, hash, expires_at)
         VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5)) RETURNING ${COLUMNS}`,
    [token.id, token.tenantId, token.agentId, token.hash, ENROLLMENT_LIFETIME],
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the insert returned no row');
  return row;
}

/** Lists tokens, newest first. */
export async function list(
  queryable: Queryable,
  { tenantId, agentId }: Omit<AgentPart, 'id'>,
  { limit, cursor }: PageRequest,
): Promise<Page<StoredEnrollmentToken>> {
  const { rows } = await queryable.query<StoredEnrollmentToken>(LIST, [
    tenantId,
    agentId,
    cursor ?? null,
    limit + 1,
  ]);
  return toPage(rows, limit);
}

/** Reads a token and locks it until the transaction ends. */
export async function lock(
  unit: Transaction,
  { tenantId, agentId, id }: AgentPart,
): Promise<StoredEnrollmentToken | undefined> {
  const { rows } = await unit.query<StoredEnrollmentToken>(
    `SELECT ${COLUMNS} FROM enrollment_tokens token WHERE id = $1 AND agent_id = $2 AND tenant_id = $3 FOR UPDATE`,
    [id, agentId, tenantId],
  );
  return rows[0];
}

/** Revokes a token that the transaction has locked. */
export async function revoke(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(ENROLLMENT_TOKEN).change(id, { revokedAt: NOW });
}

/**
 * Revokes the open enrollment tokens of an agent that the transaction has locked. @returns how many tokens that were
 */
export async function revokeOpen(unit: Transaction, agentId: string): Promise<number> {
  const { rows } = await unit.query(
    `UPDATE enrollment_tokens token SET revoked_at = now() WHERE agent_id = $1 AND ${OPEN} RETURNING id`,
    [agentId],
  );
  return rows.length;
}

/** Finds the token with this hash, and its agent. */
export async function findPresented(
  queryable: Queryable,
  tenantId: string,
  hash: Uint8Array,
): Promise<PresentedToken | undefined> {
  const { rows } = await queryable.query<StoredEnrollmentToken & PresentedToken['agent']>(FIND_PRESENTED, [
    hash,
    tenantId,
  ]);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { readAt, status, isDeleted, ...token } = row;
  return { token, now: readAt, agent: { status, isDeleted } };
}

/** Consumes a token. Of concurrent uses exactly one succeeds. @returns false when it is used, revoked or expired */
export async function consume(unit: Transaction, id: string): Promise<boolean> {
  const { rows } = await unit.query(
    `WITH locked AS MATERIALIZED (
           SELECT id, expires_at AS ends_at FROM enrollment_tokens WHERE id = $1 FOR NO KEY UPDATE
         ), used AS MATERIALIZED (${usedInTime('locked')})
         UPDATE enrollment_tokens token SET used_at = used.at FROM used
         WHERE token.id = used.id AND used_at IS NULL AND ${REVOKED_AT} IS NULL RETURNING token.id`,
    [id],
  );
  return rows.length > 0;
}

/** Records the key that this transaction registered with a token. */
export async function noteKey(unit: Transaction, id: string, keyId: string): Promise<void> {
  await unit.query('UPDATE enrollment_tokens SET key_id = $2 WHERE id = $1', [id, keyId]);
}

/** Deletes tokens of any status that expired more than 30 days ago. @returns the number deleted, at most `limit` */
export const purge = deleteOldest('enrollment_tokens', {
  key: ['id'],
  old: `expires_at < now() - interval '30 days'`,
  by: 'expires_at',
});
