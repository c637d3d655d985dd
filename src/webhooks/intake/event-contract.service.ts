// The AsyncAPI documents of tenants. One is made when the tenant's event types have changed, and kept as text.

import { createHash } from 'node:crypto';
import { findEventType, isReserved } from '../../events/catalogue.ts';
import { createAsyncApi } from '../../events/event-contract.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import * as ownTypeStore from './own-type.store.ts';

/** The most documents that a process keeps, and the most types of a tenant's own in one of them: 30 MB at most. */
const KEPT = 32;
const OWN_TYPES_KEPT = 200;

/** A document as JSON, and the digest of that. */
export type EventContract = { readonly text: string; readonly digest: string };

export class EventContractService extends Service<{
  database: Pick<Database, 'query'>;
  store?: typeof ownTypeStore;
}> {
  readonly #store = this.needs.store ?? ownTypeStore;
  readonly #documents = createBoundedCache<EventContract>({ limit: KEPT });

  /** Describes the catalogue's types and those of the tenant's own that its subscriptions name. */
  describe = async ({ tenant }: RequestContext): Promise<EventContract> => {
    const named = await this.#store.findNamedTypes(this.needs.database, tenant.id);
    const own = named
      .map(({ filter }) => filter)
      .filter((type) => findEventType(type) === undefined && !isReserved(type));
    const make = () => write(createAsyncApi(tenant, own));
    if (own.length > OWN_TYPES_KEPT) return make();
    const { id, slug, name, baseUrl } = tenant;
    return this.#documents.get(JSON.stringify([id, slug, name, baseUrl, ...own]), make);
  };
}

function write(document: Readonly<Record<string, unknown>>): EventContract {
  const text = JSON.stringify(document);
  return { text, digest: createHash('sha256').update(text).digest('base64url') };
}
