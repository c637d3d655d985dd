// SQL of the event types that a tenant uses beside the catalogue's.
import { many } from '../../platform/database/statements.ts';

/** The event types that the tenant's subscriptions name, in order. A filter with an asterisk is a pattern. */
export const findNamedTypes = many<{ readonly filter: string }, [tenantId: string]>(
  `SELECT DISTINCT filter FROM subscription_filters WHERE tenant_id = $1 AND strpos(filter, '*') = 0 ORDER BY filter`,
);
