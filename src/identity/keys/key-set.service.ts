// Publishes agents' key sets from memory. A set is at most half a second old, so that each process shows a rotation or
// a revocation within a second.
// docs/decisions/0029-agents-keys.md

import type { RequestContext } from '../../platform/context.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { createShortLivedCache } from '../../platform/database/short-lived-cache.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { AgentName } from './key-set.store.ts';
import * as store from './key-set.store.ts';
import { type AgentJwk, toJwks } from './key-set.ts';

/** Milliseconds for which a set is used. No older one is used while the database does not answer. */
const SET_LIFETIME = 500;

/** Greatest number of sets in memory. */
const KEPT = 10_000;

const EMPTY: { readonly keys: readonly AgentJwk[] } = { keys: [] };

/**
 * Sets of unknown agents are not kept, so that invented ids push no set out of memory, and each of them is looked up in
 * one statement at a time, which all concurrent look-ups share.
 */
export class KeySetService extends Service<{
  database: Pick<Database, 'query'>;
  /** A monotonic clock in milliseconds, for the age of a set. */
  now?: (() => number) | undefined;
}> {
  readonly #lookUps = createCoalescer({
    run: (batch: readonly AgentName[]) => store.list(this.needs.database, batch),
    limits: { batches: 1 },
  });
  readonly #sets = createShortLivedCache({
    load: async (text) => {
      const [tenantId = '', agentId = ''] = text.split(':');
      const keys = await this.#lookUps.add({ tenantId, agentId });
      return keys && { keys: toJwks(keys) };
    },
    lifetime: SET_LIFETIME,
    limit: KEPT,
    keep: (set) => set !== undefined,
    now: this.needs.now,
  });

  /**
   * Returns the JWK set of an agent. It is empty while the agent or its tenant is suspended, and after the agent was
   * deleted: a verifier would keep a set that it cannot read again, and an empty one ends the keys.
   * @throws ServiceError `not_found` when the tenant never had the agent
   */
  describe = async ({ tenant }: RequestContext, agentId: string): Promise<typeof EMPTY> => {
    const set = await this.#sets.get(`${tenant.id}:${agentId.toLowerCase()}`);
    if (set === undefined) throw new ServiceError('not_found', { detail: 'There is no agent with this id.' });
    return tenant.suspended ? EMPTY : set;
  };
}
