// Turns the refusal of an operator's step into a failure that is not retried. Internal failures are no refusals: their
// step is retried.
import { ApplicationFailure } from '@temporalio/activity';
import { ServiceError } from '../src/platform/errors/service-error.ts';

/**
 * Runs a step that an operator requested by an update.
 * @throws ApplicationFailure for a refusal, with the code of the ServiceError, which is not retried; every other error
 *   unchanged
 */
export async function refuseForGood<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'temporarily_unavailable') throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}
