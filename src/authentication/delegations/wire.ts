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

/** Used for the workflows of delegations: lists them, counts the late ones, signals them. */
export {
  countOverdue as countOverdueDelegations,
  listExpectedWorkflows as listDelegations,
  tellOfAgent as tellDelegations,
} from './delegation-expiry.store.ts';
