// Lists a tenant's daily delivery accounts.

import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import * as store from './account.store.ts';
import type { DeliveryAccount } from './account.ts';

export class AccountReadingService extends Service<{ database: Pick<Database, 'query'> }> {
  /** Lists accounts, the newest day first. `since` is inclusive, `until` exclusive; both are days, `2026-11-21`. */
  list = (
    context: Pick<RequestContext, 'tenant'>,
    range: { since: string | undefined; until: string | undefined },
  ): Promise<DeliveryAccount[]> =>
    store.list(this.needs.database, context.tenant.id, range.since, range.until);
}
