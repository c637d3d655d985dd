// Reads how the endpoints of a tenant stand.

import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import * as store from './standing.store.ts';
import { judgeStanding, type Standing } from './standing.ts';

export class StandingService extends Service<{ database: Pick<Database, 'query'> }> {
  /** One statement, of all subscriptions and deliveries of the tenant. */
  read = async ({ tenant, transaction }: RequestContext): Promise<Standing> =>
    judgeStanding(await store.read(transaction ?? this.needs.database, tenant.id));

  /** The same of all tenants, for operators. */
  readAll = async (): Promise<Standing> => judgeStanding(await store.read(this.needs.database));
}
