// SQL that notes a fetch of the keys of a trusted issuer or a workload issuer.
import type { Transaction } from '../../platform/database/transaction.ts';
import type { FetchedIssuer } from './trusted-issuer.ts';

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
