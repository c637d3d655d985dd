// SQL of the event types that a tenant uses beside the catalogue's.
import type { Queryable } from '../platform/database/transaction.ts';

// One index lookup: a tenant has few subscriptions, and each at most 100 filters. Patterns hold an asterisk.
const FIND = `
SELECT DISTINCT filter FROM subscriptions s CROSS JOIN LATERAL unnest(s.filters) AS filter
WHERE s.tenant_id = $1 AND s.deleted_at IS NULL AND strpos(filter, '*') = 0 ORDER BY filter`;

/** @returns the event types that the tenant's subscriptions name, in order */
export async function findNamedTypes(queryable: Queryable, tenantId: string): Promise<string[]> {
  const { rows } = await queryable.query<{ filter: string }>(FIND, [tenantId]);
  return rows.map(({ filter }) => filter);
}
