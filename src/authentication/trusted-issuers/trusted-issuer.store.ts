// SQL of trusted issuers. Each statement is bound to one tenant, but for the list of operators.
import { asked, type Models } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { TRUSTED_ISSUER } from './trusted-issuer.model.ts';
import type { IssuerAddress, TrustedIssuer } from './trusted-issuer.ts';

const issuers = createTenantRows(TRUSTED_ISSUER, {
  constraint: 'trusted_issuers_issuer_unique',
  detail: 'This issuer is trusted already.',
});
export const { insert, find, exists, lock, update, remove } = issuers;

/** Finds the trusted issuer of tokens with this `iss`. */
export function findByIssuer(
  models: Models,
  tenantId: string,
  issuer: string,
): Promise<TrustedIssuer | undefined> {
  return models.model(TRUSTED_ISSUER).find({ tenantId, issuer });
}

/** Lists trusted issuers, newest first. */
export function list(
  models: Models,
  tenantId: string,
  { issuer, ...request }: PageRequest & { readonly issuer?: string | undefined },
): Promise<Page<TrustedIssuer>> {
  return issuers.page(models, tenantId, asked({ issuer }), request);
}

/** Lists where the keys of all tenants' issuers are, but for suspended tenants. For operators. */
export async function listAddresses(queryable: Queryable): Promise<IssuerAddress[]> {
  const { rows } = await queryable.query<IssuerAddress>(
    `SELECT i.id, i.tenant_id AS "tenantId", 'trusted issuer' AS kind, i.issuer, i.jwks_uri AS uri
       FROM trusted_issuers i JOIN tenants t ON t.id = i.tenant_id
       WHERE i.jwks_uri IS NOT NULL AND t.suspended_at IS NULL ORDER BY i.tenant_id, i.id`,
  );
  return rows;
}
