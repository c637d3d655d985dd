// Reads how the endpoints of a tenant stand.
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import * as store from './standing.store.ts';
import { judgeStanding, type Standing } from './standing.ts';

export function createStandingService({ database }: { database: Pick<Database, 'query'> }) {
  return {
    /** One statement, of all subscriptions and deliveries of the tenant. */
    read: async ({ tenant, transaction }: RequestContext): Promise<Standing> =>
      judgeStanding(await store.read(transaction ?? database, tenant.id)),
    /** The same of all tenants, for operators. */
    readAll: async (): Promise<Standing> => judgeStanding(await store.read(database)),
  };
}

export type StandingService = ReturnType<typeof createStandingService>;
