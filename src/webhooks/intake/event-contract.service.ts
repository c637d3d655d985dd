// The AsyncAPI document of a tenant.

import { findEventType, isReserved } from '../../events/catalogue.ts';
import { createAsyncApi } from '../../events/event-contract.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import * as ownTypeStore from './own-type.store.ts';

export function createEventContractService({
  database,
  store = ownTypeStore,
}: {
  database: Pick<Database, 'query'>;
  store?: typeof ownTypeStore;
}) {
  return {
    /** Describes the catalogue's types and those of the tenant's own that its subscriptions name. */
    describe: async ({ tenant }: RequestContext): Promise<Record<string, unknown>> => {
      const named = await store.findNamedTypes(database, tenant.id);
      const own = named.filter((type) => findEventType(type) === undefined && !isReserved(type));
      return createAsyncApi(tenant, own);
    },
  };
}

export type EventContractService = ReturnType<typeof createEventContractService>;
