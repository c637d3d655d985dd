// The activities of delegationExpiry. Each calls one use case.
import type {
  DelegationExpiryService,
  DelegationName,
} from '../src/authentication/delegations/delegation-expiry.service.ts';
import { refuseForGood } from './operator-refusal.ts';

export function createDelegationExpiryActivities({
  delegationExpiry,
}: {
  delegationExpiry: Pick<DelegationExpiryService, 'look' | 'expire' | 'revokeByOperator'>;
}) {
  return {
    readDelegation: delegationExpiry.look,
    expireDelegation: delegationExpiry.expire,
    revokeDelegation: (name: DelegationName, reason: string | null) =>
      refuseForGood(() => delegationExpiry.revokeByOperator(name, reason ?? undefined)),
  };
}

export type DelegationExpiryActivities = ReturnType<typeof createDelegationExpiryActivities>;
