// How an operator's step is refused. Must never make a refusal of what our own parts have failed at: that is tried again.
import { ApplicationFailure } from '@temporalio/activity';
import { ServiceError } from '../src/platform/errors/service-error.ts';

/**
 * Runs what an operator asks for by an update.
 * @throws ApplicationFailure that is not tried again, with the code of the ServiceError, for a refusal; anything else as it came
 */
export async function refuseForGood<Result>(step: () => Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code === 'temporarily_unavailable') throw error;
    throw ApplicationFailure.nonRetryable(error.message, error.code);
  }
}
