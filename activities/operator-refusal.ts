// Refuses what operators request of workflows where OPERATOR_ENDS says so.
import { ApplicationFailure } from '@temporalio/activity';
import type { Activities } from './index.ts';

/**
 * Takes from operators what ends something by a workflow: every client of Temporal could do it. Retries, probes and the
 * next issuer key stay.
 * @returns activities of which the ending ones throw an ApplicationFailure that Temporal does not retry
 */
export function withoutEnds(activities: Activities): Activities {
  const refuse = async (): Promise<never> => {
    throw ApplicationFailure.nonRetryable(
      'OPERATOR_ENDS keeps workflows from ending this: use the route or the command.',
      'policy_denied',
    );
  };
  return {
    ...activities,
    operateDelivery: (name, step, reason) =>
      step === 'cancel' ? refuse() : activities.operateDelivery(name, step, reason),
    cancelReplay: refuse,
    cancelKeyRotation: refuse,
    revokeDelegation: refuse,
    revokeIssuerKey: refuse,
  };
}
