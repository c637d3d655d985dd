// Turns the refusal of an operator's step into a failure that Temporal does not retry. Internal failures are retried.
import { ApplicationFailure } from '@temporalio/activity';
import { ServiceError } from '../src/platform/errors/service-error.ts';

/** @throws ApplicationFailure with the code of a ServiceError, which Temporal does not retry; other errors unchanged */
export async function refuseForGood<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'temporarily_unavailable') throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}
