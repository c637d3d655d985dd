// SQL of trusted issuers. Each statement is bound to one tenant, but for the list of operators.
import type { Models } from '../../platform/database/model.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import { TRUSTED_ISSUER } from './trusted-issuer.model.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

export const { insert, find, exists, lock, update, remove, list } = createTenantRows(TRUSTED_ISSUER, {
  constraint: 'trusted_issuers_issuer_unique',
  detail: 'This issuer is trusted already.',
});

/** Finds the trusted issuer of tokens with this `iss`. */
export function findByIssuer(
  models: Models,
  tenantId: string,
  issuer: string,
): Promise<TrustedIssuer | undefined> {
  return models.model(TRUSTED_ISSUER).find({ tenantId, issuer });
}
