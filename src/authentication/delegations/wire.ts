// Wires delegations: their routes, their use in exchanges, and their expiry in a worker.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createDelegationRoutes } from './delegation.routes.ts';
import { createDelegationService } from './delegation.service.ts';
import { createDelegationExpiryService } from './delegation-expiry.service.ts';

export function wireDelegations(
  { database }: Platform,
  {
    revocations,
    ...rooms
  }: Needs<typeof createDelegationService, 'database' | 'tokens'> & {
    revocations: Parameters<typeof createDelegationService>[0]['tokens'];
  },
) {
  const delegations = createDelegationService({ ...rooms, database, tokens: revocations });
  return { delegations, routes: createDelegationRoutes({ delegations }) };
}

/** Wires the expiry of delegations. */
export function wireDelegationExpiry(
  { database }: Platform,
  rooms: Needs<typeof createDelegationExpiryService, 'database'>,
) {
  return createDelegationExpiryService({ ...rooms, database });
}

/**
 * Lists the delegations that should have a workflow, counts the late ones, and enqueues signals to the workflows of a
 * deleted agent's delegations.
 */
export {
  countOverdue as countOverdueDelegations,
  listExpectedWorkflows as listDelegations,
  tellOfAgent as tellDelegations,
} from './delegation-expiry.store.ts';
