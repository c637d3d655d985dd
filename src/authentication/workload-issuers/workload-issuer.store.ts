// SQL of workload issuers and of used assertions. All but purge and list of operators are bound to one tenant.
import { Op } from 'sequelize';
import { asked, type Models } from '../../platform/database/model.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { createUsedOnce } from '../../platform/database/used-once.ts';
import { GRACE, MOST_REPEATS } from '../tokens/refresh-token.ts';
import type { IssuerAddress } from '../trusted-issuers/trusted-issuer.ts';
import { WORKLOAD_ISSUER } from './workload-issuer.model.ts';
import type { WorkloadIssuer } from './workload-issuer.ts';

/** Used assertions, by tenant. */
export const usedAssertions = createUsedOnce({
  table: 'workload_assertions',
  owner: ['tenant_id', 'uuid'],
  hash: 'hash',
  repeats: { within: GRACE, most: MOST_REPEATS },
});

const issuers = createTenantRows(WORKLOAD_ISSUER, {
  constraint: 'workload_issuers_issuer_unique',
  detail: 'This issuer is trusted already.',
});
export const { insert, find, exists, lock, update, remove } = issuers;

/** Finds the issuers with one of these names. */
export function findByNames(
  models: Models,
  tenantId: string,
  issuers: readonly string[],
): Promise<WorkloadIssuer[]> {
  return models.model(WORKLOAD_ISSUER).list({ where: { tenantId, issuer: { [Op.in]: [...issuers] } } });
}

/** Lists workload issuers, newest first. */
export function list(
  models: Models,
  tenantId: string,
  { issuer, ...request }: PageRequest & { readonly issuer?: string | undefined },
): Promise<Page<WorkloadIssuer>> {
  return issuers.page(models, tenantId, asked({ issuer }), request);
}

/** Lists where the keys of all tenants' issuers are, but for suspended tenants. For operators. */
export async function listAddresses(queryable: Queryable): Promise<IssuerAddress[]> {
  const { rows } = await queryable.query<IssuerAddress>(
    `SELECT i.id, i.tenant_id AS "tenantId", 'workload issuer' AS kind, i.issuer, i.jwks_uri AS uri
       FROM workload_issuers i JOIN tenants t ON t.id = i.tenant_id
       WHERE i.jwks_uri IS NOT NULL AND t.suspended_at IS NULL ORDER BY i.tenant_id, i.id`,
  );
  return rows;
}
