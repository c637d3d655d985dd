// Turns the refusal of an operator's step into a failure that Temporal does not retry. Internal failures are retried.
import { ApplicationFailure } from '@temporalio/activity';
import { ServiceError } from '../src/platform/errors/service-error.ts';
import type { Activities } from './index.ts';

/** @throws ApplicationFailure with the code of a ServiceError, which Temporal does not retry; other errors unchanged */
export async function refuseForGood<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'temporarily_unavailable') throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}

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
