// SQL of the keys that trusted issuers and workload issuers publish: their addresses, and notes of fetches.
import { many, one } from '../../platform/database/statements.ts';
import type { IssuerAddress } from './trusted-issuer.ts';

/** Whose keys they are: the type of their targets in the audit log. */
export type IssuerKind = 'trusted_issuer' | 'workload_issuer';

const statementsOf = (kind: IssuerKind) => ({
  /** @returns undefined for an issuer that is gone, or whose keys have another address; `isOther`: the outcome changed */
  noteFetch: one<
    { issuer: string; isOther: boolean },
    [id: string, tenantId: string, jwksUri: string, error: string | null]
  >(
    `WITH before AS (
       SELECT id, fetch_error FROM ${kind}s WHERE id = $1 AND tenant_id = $2 AND jwks_uri = $3 FOR NO KEY UPDATE)
     UPDATE ${kind}s AS issuers SET fetched_at = now(), fetch_error = $4 FROM before WHERE issuers.id = before.id
     RETURNING issuers.issuer, (before.fetch_error IS NULL) <> ($4::text IS NULL) AS is_other`,
  ),

  /** Lists where the keys of all tenants' issuers are, but for suspended tenants. For operators. */
  listAddresses: many<IssuerAddress>(
    `SELECT i.id, i.tenant_id, '${kind.replace('_', ' ')}' AS kind, i.issuer, i.jwks_uri AS uri
       FROM ${kind}s i JOIN tenants t ON t.id = i.tenant_id
       WHERE i.jwks_uri IS NOT NULL AND t.suspended_at IS NULL ORDER BY i.tenant_id, i.id`,
  ),
});

/** The statements of each kind of issuer. */
export const FETCHES = {
  trusted_issuer: statementsOf('trusted_issuer'),
  workload_issuer: statementsOf('workload_issuer'),
} as const;
