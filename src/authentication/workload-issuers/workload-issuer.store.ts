// SQL of workload issuers and of used assertions. All but purge and list of operators are bound to one tenant.
import type { Models } from '../../platform/database/model.ts';
import { loadSequelize } from '../../platform/database/sequelize.ts';
import { createTenantRows } from '../../platform/database/tenant-rows.ts';
import { createUsedOnce } from '../../platform/database/used-once.ts';
import { GRACE, MOST_REPEATS } from '../tokens/refresh-token.ts';
import { WORKLOAD_ISSUER } from './workload-issuer.model.ts';
import type { WorkloadIssuer } from './workload-issuer.ts';

/** Used assertions, by tenant. */
export const usedAssertions = createUsedOnce({
  table: 'workload_assertions',
  owner: ['tenant_id', 'uuid'],
  hash: 'hash',
  repeats: { within: GRACE, most: MOST_REPEATS },
});

export const { insert, find, exists, lock, update, remove, list } = createTenantRows(WORKLOAD_ISSUER, {
  constraint: 'workload_issuers_issuer_unique',
  detail: 'This issuer is trusted already.',
});

/** Finds the issuers with one of these names. */
export function findByNames(
  models: Models,
  tenantId: string,
  issuers: readonly string[],
): Promise<WorkloadIssuer[]> {
  const { Op } = loadSequelize();
  return models.model(WORKLOAD_ISSUER).list({ where: { tenantId, issuer: { [Op.in]: [...issuers] } } });
}
