// SQL of enrollment tokens. Statements receive a token's hash, never its text. All times come from the database's
// clock.

import { deleteOldest } from '../../platform/database/deletion.ts';
import { NOW } from '../../platform/database/model.ts';
import { changed, counted, done, one, only, paged } from '../../platform/database/statements.ts';
import { selectList } from '../../platform/database/table.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { usedInTime } from '../../platform/database/used-in-time.ts';
import type { AgentRow } from '../agents/agent.model.ts';
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

const COLUMNS = `${READ}, ${REVOKED_AT} AS revoked_at, now() AS read_at`;

export const insert = only<
  StoredEnrollmentToken,
  [id: string, tenantId: string, agentId: string, hash: Uint8Array]
>(`
INSERT INTO enrollment_tokens AS token (id, tenant_id, agent_id, hash, expires_at)
VALUES ($1, $2, $3, $4, now() + interval '${ENROLLMENT_LIFETIME} seconds') RETURNING ${COLUMNS}`);

export const list = paged<StoredEnrollmentToken, [tenantId: string, agentId: string]>(`
SELECT ${COLUMNS} FROM enrollment_tokens token
WHERE tenant_id = $3 AND agent_id = $4 AND ($1::uuid IS NULL OR id < $1) ORDER BY id DESC LIMIT $2`);

/** Reads a token and locks it until the transaction ends. */
export const lock = one<StoredEnrollmentToken, [tenantId: string, agentId: string, id: string]>(
  `SELECT ${COLUMNS} FROM enrollment_tokens token WHERE id = $3 AND agent_id = $2 AND tenant_id = $1 FOR UPDATE`,
);

/** Revokes a token that the transaction has locked. */
export async function revoke(transaction: Transaction, id: string): Promise<void> {
  await transaction.model(ENROLLMENT_TOKEN).change(id, { revokedAt: NOW });
}

/** Revokes the open tokens of an agent that the transaction has locked. @returns how many */
export const revokeOpen = counted<[agentId: string]>(
  `UPDATE enrollment_tokens token SET revoked_at = now() WHERE agent_id = $1 AND ${OPEN} RETURNING id`,
);

const findRow = one<
  StoredEnrollmentToken & Pick<AgentRow, 'status'> & { readonly isDeleted: boolean },
  [tenantId: string, hash: Uint8Array]
>(`
SELECT ${COLUMNS}, agent.status, agent.deleted_at IS NOT NULL AS is_deleted
FROM enrollment_tokens token JOIN agents agent ON agent.id = token.agent_id
WHERE token.hash = $2 AND token.tenant_id = $1`);

/** Finds the token with this hash, and its agent. */
export async function findPresented(
  queryable: Queryable,
  tenantId: string,
  hash: Uint8Array,
): Promise<PresentedToken | undefined> {
  const row = await findRow(queryable, tenantId, hash);
  if (row === undefined) return undefined;
  const { readAt, status, isDeleted, ...token } = row;
  return { token, now: readAt, agent: { status, isDeleted } };
}

/** Consumes a token. Of concurrent uses exactly one succeeds. @returns false when it is used, revoked or expired */
export const consume = changed<[id: string]>(`
WITH locked AS MATERIALIZED (
  SELECT id, expires_at AS ends_at FROM enrollment_tokens WHERE id = $1 FOR NO KEY UPDATE
), used AS MATERIALIZED (${usedInTime('locked')})
UPDATE enrollment_tokens token SET used_at = used.at FROM used
WHERE token.id = used.id AND used_at IS NULL AND ${REVOKED_AT} IS NULL RETURNING token.id`);

/** Records the key that this transaction registered with a token. */
export const noteKey = done<[id: string, keyId: string]>(
  'UPDATE enrollment_tokens SET key_id = $2 WHERE id = $1',
);

/** Deletes tokens of any status that expired more than 30 days ago. @returns the number deleted, at most `limit` */
export const purge = deleteOldest('enrollment_tokens', {
  key: ['id'],
  old: `expires_at < now() - interval '30 days'`,
  by: 'expires_at',
});
