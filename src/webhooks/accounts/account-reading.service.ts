// Lists a tenant's daily delivery accounts.

import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import * as store from './account.store.ts';
import type { DeliveryAccount } from './account.ts';

export function createAccountReadingService({ database }: { database: Pick<Database, 'query'> }) {
  return {
    /** Lists accounts, the newest day first. `since` is inclusive, `until` exclusive; both are days, `2026-11-21`. */
    list: (
      context: Pick<RequestContext, 'tenant'>,
      range: { since: string | undefined; until: string | undefined },
    ): Promise<DeliveryAccount[]> => store.list(database, context.tenant.id, range),
  };
}

export type AccountReadingService = ReturnType<typeof createAccountReadingService>;
