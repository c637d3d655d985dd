// How an operator's step is refused. A failure of our own parts is no refusal: the step is tried again.
import { ApplicationFailure } from '@temporalio/activity';
import { ServiceError } from '../src/platform/errors/service-error.ts';

/**
 * Runs the step that an operator asks for by an update.
 * @throws ApplicationFailure that is not tried again, with the code of the ServiceError, for a refusal; every other
 *   error unchanged
 */
export async function refuseForGood<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'temporarily_unavailable') throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}
