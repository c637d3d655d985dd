// The activities of delegationExpiry: each calls one use case.
import type {
  DelegationExpiryService,
  DelegationName,
  DelegationStanding,
} from '../src/authentication/delegations/delegation-expiry.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of delegationExpiry, each safe to repeat */
export function createDelegationExpiryActivities({
  delegationExpiry,
}: {
  delegationExpiry: Pick<DelegationExpiryService, 'look' | 'expire' | 'revokeByOperator'>;
}) {
  return {
    /** Reads how a delegation stands. */
    readDelegation: (name: DelegationName): Promise<DelegationStanding> => delegationExpiry.look(name),

    /** The time of the delegation is over: records that it has expired. */
    expireDelegation: (name: DelegationName): Promise<DelegationStanding> => delegationExpiry.expire(name),

    /** An operator revokes the delegation. A refusal is final: it is not tried again. */
    revokeDelegation: (name: DelegationName, reason: string | null): Promise<DelegationStanding> =>
      refuseForGood(() => delegationExpiry.revokeByOperator(name, reason ?? undefined)),
  };
}

export type DelegationExpiryActivities = ReturnType<typeof createDelegationExpiryActivities>;
