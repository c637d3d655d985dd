// SQL of trusted issuers. Each statement is bound to one tenant, but for the list of operators.
import { one } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import { TRUSTED_ISSUER } from './trusted-issuer.model.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

export const { insert, find, exists, lock, update, remove, list } = createTenantRows(TRUSTED_ISSUER, {
  constraint: 'trusted_issuers_issuer_unique',
  detail: 'This issuer is trusted already.',
});

/** Finds the trusted issuer of tokens with this `iss`. */
export const findByIssuer = one<TrustedIssuer, [tenantId: string, issuer: string]>(
  `SELECT ${selectList(TRUSTED_ISSUER, columnNames(TRUSTED_ISSUER))} FROM trusted_issuers
   WHERE tenant_id = $1 AND issuer = $2`,
);
