// Counts challenges, verifications and their errors, by error code.
import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { ChallengeService } from './challenge.service.ts';

/** @param challenges the service whose answers are counted */
export function countChallenges(
  challenges: Pick<ChallengeService, 'issue' | 'verify'>,
  { registry }: { registry: Registry },
): Pick<ChallengeService, 'issue' | 'verify'> {
  const requests = new Counter({
    name: 'countersign_challenge_requests_total',
    help: 'Requests for a challenge by outcome: "issued", or the error code.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const verifications = new Counter({
    name: 'countersign_challenge_verifications_total',
    help: 'Answers to challenges by outcome: "verified", or the error code.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  return {
    issue: countOutcomes(challenges.issue, requests, 'issued'),
    verify: countOutcomes(challenges.verify, verifications, 'verified'),
  };
}

function countOutcomes<Args extends unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
  counter: Counter<'outcome'>,
  success: string,
): (...args: Args) => Promise<Result> {
  const succeeded = counter.labels(success);
  return async (...args) => {
    try {
      const result = await work(...args);
      succeeded.inc();
      return result;
    } catch (error) {
      counter.inc({ outcome: error instanceof ServiceError ? error.code : 'server_error' });
      throw error;
    }
  };
}
