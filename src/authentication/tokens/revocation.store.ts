// SQL of revocations. A revocation is inserted in the transaction of its cause. Each process that accepts tokens reads
// it.
import { validate as isUuid } from 'uuid';
import { deleteOldest } from '../../platform/database/deletion.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { principalsOf, type RevocableClaims, type Revocation, tokensOf } from './revocation.ts';

/** Longer than any setting lets an access token live (a day), so a change of the setting loses no revocation. */
const KEPT = "interval '25 hours'";

const COLUMNS = `id::float8 AS id, token_id AS "tokenId", principal, extract(epoch FROM not_before)::float8 * 1000 AS "notBefore",
  extract(epoch FROM expires_at)::float8 * 1000 AS "expiresAt"`;

export async function insertTokens(
  unit: Queryable,
  tenantId: string,
  tokenIds: readonly string[],
): Promise<Revocation[]> {
  const { rows } = await unit.query<Revocation>(
    `WITH added AS (
           INSERT INTO revocations (tenant_id, token_id, expires_at)
           SELECT $1, token_id, now() + ${KEPT} FROM unnest($2::uuid[]) AS token_id RETURNING *
         ) SELECT ${COLUMNS} FROM added`,
    [tenantId, tokenIds],
  );
  return rows;
}

/** Ends all tokens of a principal. @param until `now`: tokens issued until now; `ever`: later tokens too */
export async function insertPrincipal(
  unit: Queryable,
  tenantId: string,
  principal: string,
  until: 'now' | 'ever',
): Promise<Revocation[]> {
  const { rows } = await unit.query<Revocation>(
    `WITH added AS (
           INSERT INTO revocations (tenant_id, principal, not_before, expires_at)
           VALUES ($1, $2, CASE $3 WHEN 'now' THEN clock_timestamp() ELSE 'infinity' END, now() + ${KEPT}) RETURNING *
         ) SELECT ${COLUMNS} FROM added`,
    [tenantId, principal, until],
  );
  return rows;
}

/**
 * Reads the revocations that an earlier read could not see, because their transactions were running or began later.
 * @param since the `horizon` that the earlier read returned; `'0'` for all
 */
export async function readSince(
  queryable: Queryable,
  since: string,
): Promise<{ horizon: string; revocations: Revocation[] }> {
  const { rows } = await queryable.query<{ horizon: string } & (Revocation | { id: null })>(
    `SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS horizon, revoked.*
         FROM (SELECT) AS always
         LEFT JOIN LATERAL (
           SELECT ${COLUMNS} FROM revocations WHERE xid >= $1::xid8 AND expires_at > now()
         ) AS revoked ON true`,
    [since],
  );
  const [first] = rows;
  if (first === undefined) throw new Error('the snapshot gave no row');
  const revocations = rows.flatMap(({ horizon: _, ...row }) => (row.id === null ? [] : [row]));
  return { horizon: first.horizon, revocations };
}

/** Reads the revocations that end any of these tokens. */
export async function readOf(
  queryable: Queryable,
  claims: readonly RevocableClaims[],
): Promise<Revocation[]> {
  const { rows } = await queryable.query<Revocation>(
    `SELECT ${COLUMNS} FROM revocations WHERE token_id = ANY ($1::uuid[])
         UNION ALL
         SELECT ${COLUMNS} FROM revocations WHERE principal = ANY ($2::uuid[])`,
    [claims.flatMap(tokensOf).filter(isUuid), claims.flatMap(principalsOf).filter(isUuid)],
  );
  return rows;
}

/** Deletes revocations whose tokens have all expired. @returns the number deleted, at most `limit` */
export const purge = deleteOldest('revocations', {
  key: ['id'],
  old: 'expires_at < now()',
  by: 'expires_at',
});
