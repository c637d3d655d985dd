// The activities of delegationExpiry. Thin: each is one use case, which Postgres decides anew, so that repeating one does no harm.
import type {
  DelegationExpiryService,
  DelegationName,
  DelegationStanding,
} from '../src/authentication/delegations/delegation-expiry.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns one function an activity of delegationExpiry, each safe to repeat */
export function createDelegationExpiryActivities({
  delegationExpiry,
}: {
  delegationExpiry: Pick<DelegationExpiryService, 'look' | 'expire' | 'revokeByOperator'>;
}) {
  return {
    /** Reads how a delegation stands. */
    readDelegation: (name: DelegationName): Promise<DelegationStanding> => delegationExpiry.look(name),

    /** The end has come: writes it down. */
    expireDelegation: (name: DelegationName): Promise<DelegationStanding> => delegationExpiry.expire(name),

    /** An operator revokes the delegation. A refusal is final, not to be tried again. */
    revokeDelegation: (name: DelegationName, reason: string | null): Promise<DelegationStanding> =>
      refuseForGood(() => delegationExpiry.revokeByOperator(name, reason ?? undefined)),
  };
}

export type DelegationExpiryActivities = ReturnType<typeof createDelegationExpiryActivities>;
