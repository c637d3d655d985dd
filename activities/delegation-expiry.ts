// The activities of delegationExpiry. Each calls one use case.
import type {
  DelegationExpiryService,
  DelegationName,
} from '../src/authentication/delegations/delegation-expiry.service.ts';
import { forOperator } from './operator-request.ts';

export function createDelegationExpiryActivities({
  delegationExpiry,
}: {
  delegationExpiry: Pick<DelegationExpiryService, 'look' | 'expire' | 'revokeByOperator'>;
}) {
  return {
    readDelegation: delegationExpiry.look,
    expireDelegation: delegationExpiry.expire,
    revokeDelegation: (name: DelegationName, reason: string | null) =>
      forOperator(reason, (request) => delegationExpiry.revokeByOperator(name, request)),
  };
}

export type DelegationExpiryActivities = ReturnType<typeof createDelegationExpiryActivities>;
