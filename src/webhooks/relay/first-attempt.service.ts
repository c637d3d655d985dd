// Makes the first attempt of a delivery in the relay, so that a delivery to a working endpoint needs no workflow. When
// the delivery is unfinished after this attempt, a workflow continues it.
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttemptService } from '../deliveries/attempt.service.ts';
import type { LastAttempt, Step } from '../deliveries/attempt.ts';
import type { AttemptRecordService } from '../deliveries/attempt-record.service.ts';
import { isSlow } from '../endpoints/endpoint-speed.ts';
import type { Work } from './relay.store.ts';

/**
 * `done`: the delivery has ended; `removed`: the record of a success has removed the row of the outbox. `release`: the
 * claim is given back. `continue`: a workflow takes over.
 */
export type FirstAttempt =
  | { readonly kind: 'done'; readonly removed: boolean }
  | { readonly kind: 'release' }
  | { readonly kind: 'continue'; readonly last: LastAttempt; readonly waiting: Step; readonly slow: boolean };

/** The wait between two tries to record a POST, in milliseconds. It doubles from the least to the longest. */
const LEAST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;

export function createFirstAttemptService({
  attempts,
  attemptRecords,
}: {
  attempts: Pick<AttemptService, 'send'>;
  attemptRecords: Pick<AttemptRecordService, 'record'>;
}) {
  const recordUntilDone = async (report: Parameters<typeof attemptRecords.record>[0]) => {
    for (let pause = LEAST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await attemptRecords.record(report, { workflow: false });
      } catch {
        await sleep(pause);
      }
    }
  };

  return {
    /** Makes the attempt, unless it was already made. @throws when the database cannot be read; no POST was made */
    make: async (work: Work): Promise<FirstAttempt> => {
      const { deliveryId, generation, epoch: grant } = work;
      const request = { deliveryId, generation, n: 1, grant };
      const sent = await attempts.send(request, { workflow: false, loaded: work.delivery });
      const unrecorded = sent.kind === 'unrecorded';
      const { step, last, removed = false } = unrecorded ? await recordUntilDone(sent.report) : sent;
      const slow = unrecorded ? isSlow(sent.report.durationMs) : sent.slow === true;
      if (step.kind === 'ended') return { kind: 'done', removed };
      if (step.kind === 'held' || last === undefined) return { kind: 'release' };
      return { kind: 'continue', last, waiting: step, slow };
    },
  };
}

export type FirstAttemptService = ReturnType<typeof createFirstAttemptService>;
