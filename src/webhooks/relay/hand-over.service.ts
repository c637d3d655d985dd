// Hands claimed rows over to Temporal or to a first attempt. A row is deleted only after its hand-over was
// acknowledged, so a crash may repeat a hand-over. A repeated hand-over changes nothing.
// docs/decisions/0040-one-engine.md

import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { Service } from '../../platform/service.ts';
import { DELIVERY_WORKFLOW } from '../../platform/temporal/names.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import type { Wait } from '../deliveries/attempt.ts';
import { isUnfinished } from '../deliveries/delivery.ts';
import { restart } from '../rows/delivery-row.store.ts';
import { traceDelivery } from './delivery-span.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import type { FirstAttemptService } from './first-attempt.service.ts';
import { createPause } from './pause.ts';
import type { Work } from './relay.store.ts';
import type { Slots } from './slots.ts';
import { createStartWindow } from './start-window.ts';

/** The most concurrent starts of workflows: each finds a free slot of this worker, and a slow Temporal is spared. */
const WINDOW = 16;

/**
 * Receives the result of each claimed row. `done` deletes the row and, with `mark`, marks its delivery as started.
 * `unused` does so for a row that has begun no attempt. `removed`: the row is gone. `release` gives the claim back.
 */
export type Settlement = {
  done(work: Work, mark: boolean): void;
  unused(work: Work, mark: boolean): void;
  removed(work: Work): void;
  release(work: Work): void;
};

export type HandOverNeeds = {
  database: Pick<Database, 'query'>;
  starter: Pick<DeliveryStarter, 'start' | 'signal'>;
  slots: Slots;
  settlement: Settlement;
  /** Makes first attempts in this process. */
  firstAttempts: Pick<FirstAttemptService, 'make'>;
  /** False when another relay may have taken over the claims of this relay. */
  isAlive: () => boolean;
  onFailure: (error: unknown) => void;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
  now?: (() => number) | undefined;
};

export class HandOver extends Service<HandOverNeeds> {
  readonly #tracing = this.needs.tracing ?? NO_TRACING;
  readonly #now = this.needs.now ?? (() => performance.now());
  readonly #window = createStartWindow(WINDOW);
  readonly #running = new Set<Promise<void>>();
  // Two pauses, because first attempts need the database but not Temporal.
  readonly #pause = createPause(this.#now);
  readonly #temporalPause = createPause(this.#now);
  readonly #ending = new AbortController();

  /** Hands a claimed row over in the background. It never throws. @param slow the receiver answers slowly */
  begin = (work: Work, slow: boolean): void => {
    const run: Promise<void> = this.#perform(work, slow).finally(() => this.#running.delete(run));
    this.#running.add(run);
  };

  /**
   * @returns which work may be claimed: `all`; `first` (only first attempts) during a pause after a failure of
   *   Temporal; `none` during a pause after a failure of the database
   */
  takes = (): 'all' | 'first' | 'none' => {
    if (!this.#isTemporalPaused()) return 'all';
    return this.#isPaused() ? 'none' : 'first';
  };

  /** Gives back the claims whose hand-over has not begun, and waits for the others. */
  stop = async (): Promise<void> => {
    this.#ending.abort();
    await Promise.all(this.#running);
  };

  /** Returns how many hand-overs are under way. */
  pending = (): number => this.#running.size;

  #isPaused = (): boolean => this.#ending.signal.aborted || this.#pause.left() > 0;

  #isTemporalPaused = (): boolean => this.#isPaused() || this.#temporalPause.left() > 0;

  #perform = async (work: Work, slow: boolean): Promise<void> => {
    try {
      if (work.kind !== 'command' && !isWanted(work)) {
        await this.#dismiss(work);
      } else if (isDirect(work)) {
        await this.#attempt(work);
      } else if (work.tried !== undefined && work.tried.waiting.delayMs > 0) {
        // Its workflow begins with a wait, so neither its place nor its permit is needed yet.
        this.needs.slots.remove(work.deliveryId);
        await this.#start(work, { slow, made: work.tried, claim: 'unused' });
      } else if (work.kind === 'first' || work.kind === 'start') {
        await this.#start(work, { slow, made: work.tried, claim: 'handed on' });
      } else {
        await this.#signal(work);
      }
    } catch (error) {
      this.#giveBack(work);
      if (this.#temporalPause.left() === 0) this.#pause.begin();
      this.needs.onFailure(error);
    }
  };

  #attempt = async (work: Work): Promise<void> => {
    const { firstAttempts, slots, settlement } = this.needs;
    if (this.#isPaused() || !this.needs.isAlive()) return this.#giveBack(work);
    const first = await firstAttempts.make(work);
    slots.remove(work.deliveryId);
    if (first.kind === 'release') return this.#giveBack(work);
    if (first.kind === 'done') return first.removed ? settlement.removed(work) : settlement.done(work, false);
    // The row is kept until the workflow is started. If the start fails, the next relay that claims the row finds the
    // attempt in it and starts a workflow.
    const tried = { ...work, attemptCount: first.last.n };
    try {
      await this.#start(tried, { slow: first.slow, made: first, claim: 'used' });
    } catch (error) {
      this.#giveBack(tried);
      this.needs.onFailure(error);
    }
  };

  /**
   * Starts the workflow of a delivery.
   * @param options.made the attempt that was made, and the wait with which the workflow begins
   * @param options.claim what became of the claim: an attempt has used it, the workflow's first attempt has it, or no
   *   attempt
   * @param options.slow the endpoint's receiver answers slowly
   */
  #start = async (
    work: Work,
    { slow, made, claim }: { slow: boolean; made?: Work['tried']; claim: 'used' | 'handed on' | 'unused' },
  ): Promise<void> => {
    const since = this.#now();
    await this.#window.enter();
    try {
      if (this.#isTemporalPaused()) return this.#giveBack(work);
      const waiting = made && shorten(made.waiting, this.#now() - since);
      // At a paced endpoint its attempt needs the next claim. The attempt that was made has spent the permit.
      if (claim === 'used' && work.paced && waiting?.delayMs === 0)
        return this.needs.settlement.release({ ...work, paced: false });
      const request = {
        deliveryId: work.deliveryId,
        generation: work.generation,
        tenantId: work.tenantId,
        subscriptionId: work.endpoint,
        eventType: work.eventType,
        host: work.host,
        local: made !== undefined && !slow,
        slow,
        n: (made?.last.n ?? work.attemptCount) + 1,
        last: made?.last,
        waiting,
        grant: claim === 'handed on' ? work.epoch : undefined,
      };
      const outcome = await this.#viaTemporal(() =>
        traceDelivery(this.#tracing, work, `StartWorkflow:${DELIVERY_WORKFLOW}`, (trace) =>
          this.needs.starter.start({ ...request, trace }),
        ),
      );
      if (claim === 'unused') this.needs.settlement.unused(work, true);
      else this.needs.settlement.done(work, true);
      if (outcome === 'exists') this.needs.slots.remove(work.deliveryId);
    } finally {
      this.#window.leave();
    }
  };

  #signal = async (work: Work): Promise<void> => {
    if (this.#isTemporalPaused()) return this.#giveBack(work);
    const { starter, settlement } = this.needs;
    const delivery = { deliveryId: work.deliveryId, generation: work.generation };
    const received = await this.#viaTemporal(() =>
      work.kind === 'wake'
        ? starter.signal(delivery, 'wake', work.epoch)
        : starter.signal(delivery, work.command === 'cancel' ? 'cancel' : 'retryNow'),
    );
    if (received) return settlement.done(work, true);
    this.needs.slots.remove(work.deliveryId);
    // The workflow is gone, so an unfinished delivery gets a workflow of the next generation.
    if (work.command !== 'cancel') await restart(this.needs.database, { ...delivery, outboxId: newId() });
    settlement.unused(work, false);
  };

  /**
   * Drops a row whose delivery has ended. Its workflow may wait all the same, when another attempt has ended the
   * delivery: it is signalled, reads the row and ends.
   */
  #dismiss = async (work: Work): Promise<void> => {
    const { deliveryId, generation, kind } = work;
    if (kind !== 'first' && this.#isTemporalPaused()) return this.#giveBack(work);
    this.needs.slots.remove(deliveryId);
    if (kind !== 'first')
      await this.#viaTemporal(() => this.needs.starter.signal({ deliveryId, generation }, 'cancel'));
    this.needs.settlement.unused(work, false);
  };

  #giveBack = (work: Work): void => {
    if (work.kind !== 'command') this.needs.slots.remove(work.deliveryId);
    this.needs.settlement.release(work);
  };

  /** Calls Temporal. A failure begins a pause before the next call. @throws the error of the call */
  #viaTemporal = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      const result = await call();
      this.#temporalPause.end();
      return result;
    } catch (error) {
      this.#temporalPause.begin();
      throw error;
    }
  };
}

/** Whether the attempt is made here, without a workflow. */
function isDirect({ kind, ownWorkflow }: Work): boolean {
  return kind === 'first' && !ownWorkflow;
}

/** @returns the wait that is left after a part of it has passed */
function shorten({ delayMs }: Wait, ms: number): Wait {
  return { kind: 'wait', delayMs: Math.max(0, delayMs - ms) };
}

/** @returns whether the row's delivery is unfinished in the row's generation */
function isWanted({ status, rowGeneration, generation }: Work): boolean {
  return status !== null && isUnfinished(status) && rowGeneration === generation;
}
