// SQL of the keys that trusted issuers and workload issuers publish: their addresses, and notes of fetches.
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { FetchedIssuer, IssuerAddress } from './trusted-issuer.ts';

/** Whose keys they are: the type of their targets in the audit log. */
export type IssuerKind = 'trusted_issuer' | 'workload_issuer';

/** @returns the issuer when its fetches begin to fail or succeed again, otherwise undefined */
export async function noteFetch(
  transaction: Transaction,
  kind: IssuerKind,
  { id, tenantId, jwksUri }: FetchedIssuer,
  error: string | null,
): Promise<{ readonly issuer: string } | undefined> {
  const { rows } = await transaction.query<{ issuer: string; is_other: boolean }>(
    `WITH before AS (
       SELECT id, fetch_error FROM ${kind}s WHERE id = $1 AND tenant_id = $2 AND jwks_uri = $3 FOR NO KEY UPDATE)
     UPDATE ${kind}s AS issuers SET fetched_at = now(), fetch_error = $4 FROM before WHERE issuers.id = before.id
     RETURNING issuers.issuer, (before.fetch_error IS NULL) <> ($4::text IS NULL) AS is_other`,
    [id, tenantId, jwksUri, error],
  );
  return rows.find(({ is_other }) => is_other);
}

/** Lists where the keys of all tenants' issuers of a kind are, but for suspended tenants. For operators. */
export async function listAddresses(queryable: Queryable, kind: IssuerKind): Promise<IssuerAddress[]> {
  const { rows } = await queryable.query<IssuerAddress>(
    `SELECT i.id, i.tenant_id AS "tenantId", $1::text AS kind, i.issuer, i.jwks_uri AS uri
       FROM ${kind}s i JOIN tenants t ON t.id = i.tenant_id
       WHERE i.jwks_uri IS NOT NULL AND t.suspended_at IS NULL ORDER BY i.tenant_id, i.id`,
    [kind.replace('_', ' ')],
  );
  return rows;
}
