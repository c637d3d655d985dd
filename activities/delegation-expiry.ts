// The activities of delegationExpiry. Each calls one use case.
import type {
  DelegationExpiryService,
  DelegationName,
  DelegationStanding,
} from '../src/authentication/delegations/delegation-expiry.service.ts';
import { refuseForGood } from './operator-refusal.ts';

export function createDelegationExpiryActivities({
  delegationExpiry,
}: {
  delegationExpiry: Pick<DelegationExpiryService, 'look' | 'expire' | 'revokeByOperator'>;
}) {
  return {
    readDelegation: (name: DelegationName): Promise<DelegationStanding> => delegationExpiry.look(name),

    expireDelegation: (name: DelegationName): Promise<DelegationStanding> => delegationExpiry.expire(name),

    revokeDelegation: (name: DelegationName, reason: string | null): Promise<DelegationStanding> =>
      refuseForGood(() => delegationExpiry.revokeByOperator(name, reason ?? undefined)),
  };
}

export type DelegationExpiryActivities = ReturnType<typeof createDelegationExpiryActivities>;
