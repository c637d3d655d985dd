// SQL of workload issuers and of used assertions. All but purge and list of operators are bound to one tenant.
import { many } from '../../platform/database/statements.ts';
import { columnNames, selectList } from '../../platform/database/table.ts';
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
export const findByNames = many<WorkloadIssuer, [tenantId: string, issuers: readonly string[]]>(
  `SELECT ${selectList(WORKLOAD_ISSUER, columnNames(WORKLOAD_ISSUER))} FROM workload_issuers
   WHERE tenant_id = $1 AND issuer = ANY ($2)`,
);
