// SQL of the console's sessions and codes. Every statement is bound to one tenant; none has the text of a secret.
import { deleteOldest } from '../../platform/database/deletion.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';

/** A session ends an hour after its last use, and eight hours after it began. */
const IDLE = "interval '1 hour'";
const LONGEST = "interval '8 hours'";
const CODE_LIFE = "interval '10 minutes'";

/** The most tokens of a session that end with it. */
const TOKENS_KEPT = 50;

const IS_LIVE = `created_at > now() - ${LONGEST} AND used_at > now() - ${IDLE}`;

export type Session = {
  readonly id: string;
  readonly applicationId: string;
  readonly secretId: string | null;
};

type Place = { readonly tenantId: string; readonly hash: Uint8Array };

const SESSION = `id, application_id AS "applicationId", secret_id AS "secretId"`;

export async function insertCode(
  unit: Transaction,
  code: Place & { readonly applicationId: string },
): Promise<void> {
  await unit.query(
    `INSERT INTO console_codes (hash, tenant_id, application_id, expires_at) VALUES ($1, $2, $3, now() + ${CODE_LIFE})`,
    [code.hash, code.tenantId, code.applicationId],
  );
}

/** Reads the application of a live code, which stays as it is. */
export async function findCode(queryable: Queryable, { tenantId, hash }: Place): Promise<string | undefined> {
  const { rows } = await queryable.query<{ applicationId: string }>(
    `SELECT application_id AS "applicationId" FROM console_codes
         WHERE hash = $1 AND tenant_id = $2 AND expires_at > now()`,
    [hash, tenantId],
  );
  return rows[0]?.applicationId;
}

/** Uses a live code up. @returns false when it was used meanwhile */
export async function takeCode(unit: Transaction, { tenantId, hash }: Place): Promise<boolean> {
  const { rowCount } = await unit.query(
    'DELETE FROM console_codes WHERE hash = $1 AND tenant_id = $2 AND expires_at > now()',
    [hash, tenantId],
  );
  return rowCount === 1;
}

/** Removes all codes of all tenants. @returns their number */
export async function removeCodes(unit: Transaction): Promise<number> {
  return (await unit.query('DELETE FROM console_codes')).rowCount;
}

export async function insert(unit: Transaction, session: Session & Place): Promise<void> {
  await unit.query(
    'INSERT INTO console_sessions (id, hash, tenant_id, application_id, secret_id) VALUES ($1, $2, $3, $4, $5)',
    [session.id, session.hash, session.tenantId, session.applicationId, session.secretId],
  );
}

export async function find(queryable: Queryable, { tenantId, hash }: Place): Promise<Session | undefined> {
  const { rows } = await queryable.query<Session>(
    `SELECT ${SESSION} FROM console_sessions WHERE hash = $1 AND tenant_id = $2 AND ${IS_LIVE}`,
    [hash, tenantId],
  );
  return rows[0];
}

/** Records the use of a live session, and the token that it gets. @returns false when it has ended meanwhile */
export async function use(
  queryable: Queryable,
  { tenantId, hash }: Place,
  tokenId: string,
): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `UPDATE console_sessions
         SET used_at = now(), token_ids = token_ids[greatest(1, cardinality(token_ids) - ${TOKENS_KEPT - 2}):] || $3::uuid
         WHERE hash = $1 AND tenant_id = $2 AND ${IS_LIVE}`,
    [hash, tenantId, tokenId],
  );
  return rowCount === 1;
}

/** @returns the session that was removed, with its tokens */
export async function remove(
  unit: Transaction,
  { tenantId, hash }: Place,
): Promise<(Session & { readonly tokenIds: readonly string[] }) | undefined> {
  const { rows } = await unit.query<Session & { tokenIds: string[] }>(
    `DELETE FROM console_sessions WHERE hash = $1 AND tenant_id = $2 RETURNING ${SESSION}, token_ids AS "tokenIds"`,
    [hash, tenantId],
  );
  return rows[0];
}

/** Deletes ended sessions. @returns the number deleted, at most `limit` */
export const purgeSessions = deleteOldest('console_sessions', {
  key: ['id'],
  old: `created_at < now() - ${LONGEST}`,
  by: 'created_at',
});

/** Deletes expired codes. @returns the number deleted, at most `limit` */
export const purgeCodes = deleteOldest('console_codes', {
  key: ['hash'],
  old: 'expires_at < now()',
  by: 'expires_at',
});
