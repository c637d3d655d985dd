// Makes an attempt without a workflow: the first one of a delivery, or an early retry of a crowd. When the delivery is
// unfinished after it, a workflow continues it: that of its endpoint, or one of the delivery.
// docs/decisions/0040-one-engine.md, docs/decisions/0043-crowds.md

import { setTimeout as sleep } from 'node:timers/promises';
import { Service } from '../../platform/service.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import type { AttemptService } from '../deliveries/attempt.service.ts';
import type { LastAttempt, Wait } from '../deliveries/attempt.ts';
import type { AttemptRecordService } from '../deliveries/attempt-record.service.ts';
import { isSlow } from '../endpoints/endpoint-speed.ts';
import { traceDelivery } from './delivery-span.ts';
import { isLoaded, type Work } from './relay.store.ts';

/**
 * `done`: the delivery has ended, or waits in the crowd of its endpoint; `removed`: its record has removed the row of
 * the outbox. `release`: the claim is given back. `continue`: a workflow of the delivery takes over.
 */
export type FirstAttempt =
  | { readonly kind: 'done'; readonly removed: boolean }
  | { readonly kind: 'release' }
  | { readonly kind: 'continue'; readonly last: LastAttempt; readonly waiting: Wait; readonly slow: boolean };

/** The wait between two tries to record a POST, in milliseconds. It doubles from the least to the longest. */
const LEAST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;

export type FirstAttemptNeeds = {
  attempts: Pick<AttemptService, 'send'>;
  attemptRecords: Pick<AttemptRecordService, 'record'>;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
};

export class FirstAttemptService extends Service<FirstAttemptNeeds> {
  readonly #tracing = this.needs.tracing ?? NO_TRACING;

  /**
   * Makes the attempt, unless it was already made.
   * @param signal ends the attempt when its process must stop; the delivery's attempt may then be repeated
   * @throws when the database cannot be read, so that no POST was made, or after the signal
   */
  make = async (work: Work, signal?: AbortSignal): Promise<FirstAttempt> => {
    const { deliveryId, generation, attemptCount, epoch: grant } = work;
    const request = { deliveryId, generation, n: attemptCount + 1, grant };
    const sent = await traceDelivery(
      this.#tracing,
      work,
      attemptCount === 0 ? 'first attempt' : 'early retry',
      () =>
        this.needs.attempts.send(request, {
          workflow: false,
          loaded: isLoaded(work) ? work : undefined,
          signal,
        }),
    );
    const unrecorded = sent.kind === 'unrecorded';
    const settled = unrecorded ? await this.#recordUntilDone(sent.report, signal) : sent;
    const { step, last, crowded = false, removed = false } = settled;
    const slow = unrecorded ? isSlow(sent.report.durationMs) : sent.slow === true;
    if (step.kind === 'ended' || crowded) return { kind: 'done', removed };
    if (step.kind === 'held' || last === undefined) return { kind: 'release' };
    return { kind: 'continue', last, waiting: step, slow };
  };

  #recordUntilDone = async (
    report: Parameters<typeof this.needs.attemptRecords.record>[0],
    signal: AbortSignal | undefined,
  ) => {
    for (let pause = LEAST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await this.needs.attemptRecords.record(report, { workflow: false });
      } catch {
        await sleep(pause, undefined, { signal });
      }
    }
  };
}
