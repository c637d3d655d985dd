// SQL of the event types that a tenant uses beside the catalogue's.
import type { Queryable } from '../../platform/database/transaction.ts';

// Patterns hold an asterisk.
const FIND = `
SELECT DISTINCT filter FROM subscription_filters WHERE tenant_id = $1 AND strpos(filter, '*') = 0 ORDER BY filter`;

/** @returns the event types that the tenant's subscriptions name, in order */
export async function findNamedTypes(queryable: Queryable, tenantId: string): Promise<string[]> {
  const { rows } = await queryable.query<{ filter: string }>(FIND, [tenantId]);
  return rows.map(({ filter }) => filter);
}
