// Hands claimed rows over to Temporal or to a first attempt. A row is deleted only after its hand-over was
// acknowledged, so a crash may repeat a hand-over. A repeated hand-over changes nothing.
// docs/decisions/0040-one-engine.md

import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { DELIVERY_WORKFLOW } from '../../platform/temporal/names.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { Wait } from '../deliveries/attempt.ts';
import { isUnfinished } from '../deliveries/delivery.ts';
import { traceDelivery } from './delivery-span.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import type { FirstAttemptService } from './first-attempt.service.ts';
import { createPause } from './pause.ts';
import type { Work } from './relay.store.ts';
import * as store from './relay.store.ts';
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
  firstAttempts: FirstAttemptService;
  isAlive: () => boolean;
  onFailure: (error: unknown) => void;
  tracing?: Pick<Tracing, 'current' | 'span'> | undefined;
  now?: (() => number) | undefined;
};

/**
 * @param needs.firstAttempts makes first attempts in this process
 * @param needs.isAlive false when another relay may have taken over the claims of this relay
 */
export function createHandOver(needs: HandOverNeeds) {
  const tools = prepareHandOver(needs);
  return {
    ...bindUseCases(tools, { begin, takes, stop }),
    pending: (): number => tools.running.size,
  };
}

type HandOverTools = ReturnType<typeof prepareHandOver>;

function prepareHandOver({ tracing = NO_TRACING, now = () => performance.now(), ...needs }: HandOverNeeds) {
  return {
    ...needs,
    tracing,
    now,
    window: createStartWindow(WINDOW),
    running: new Set<Promise<void>>(),
    // Two pauses, because first attempts need the database but not Temporal.
    pause: createPause(now),
    temporalPause: createPause(now),
    ending: new AbortController(),
  };
}

/** Hands a claimed row over in the background. It never throws. @param slow the receiver answers slowly */
function begin(needs: HandOverTools, work: Work, slow: boolean): void {
  const { running } = needs;
  const run: Promise<void> = perform(needs, work, slow).finally(() => running.delete(run));
  running.add(run);
}

/**
 * @returns which work may be claimed: `all`; `first` (only first attempts) during a pause after a failure of
 *   Temporal; `none` during a pause after a failure of the database
 */
function takes(needs: HandOverTools): 'all' | 'first' | 'none' {
  if (!isTemporalPaused(needs)) return 'all';
  return isPaused(needs) ? 'none' : 'first';
}

/** Gives back the claims whose hand-over has not begun, and waits for the others. */
async function stop({ ending, running }: HandOverTools): Promise<void> {
  ending.abort();
  await Promise.all(running);
}

function isPaused({ ending, pause }: HandOverTools): boolean {
  return ending.signal.aborted || pause.left() > 0;
}

function isTemporalPaused(needs: HandOverTools): boolean {
  return isPaused(needs) || needs.temporalPause.left() > 0;
}

async function perform(needs: HandOverTools, work: Work, slow: boolean): Promise<void> {
  try {
    if (work.kind !== 'command' && !isWanted(work)) {
      await dismiss(needs, work);
    } else if (isDirect(work)) {
      await attempt(needs, work);
    } else if (work.tried !== undefined && work.tried.waiting.delayMs > 0) {
      // Its workflow begins with a wait, so neither its place nor its permit is needed yet.
      needs.slots.remove(work.deliveryId);
      await start(needs, work, { slow, made: work.tried, claim: 'unused' });
    } else if (work.kind === 'first' || work.kind === 'start') {
      await start(needs, work, { slow, made: work.tried, claim: 'handed on' });
    } else {
      await signal(needs, work);
    }
  } catch (error) {
    giveBack(needs, work);
    if (needs.temporalPause.left() === 0) needs.pause.begin();
    needs.onFailure(error);
  }
}

async function attempt(needs: HandOverTools, work: Work): Promise<void> {
  const { firstAttempts, slots, settlement } = needs;
  if (isPaused(needs) || !needs.isAlive()) return giveBack(needs, work);
  const first = await firstAttempts.make(work);
  slots.remove(work.deliveryId);
  if (first.kind === 'release') return giveBack(needs, work);
  if (first.kind === 'done') return first.removed ? settlement.removed(work) : settlement.done(work, false);
  // The row is kept until the workflow is started. If the start fails, the next relay that claims the row finds the
  // attempt in it and starts a workflow.
  const tried = { ...work, attemptCount: first.last.n };
  try {
    await start(needs, tried, { slow: first.slow, made: first, claim: 'used' });
  } catch (error) {
    giveBack(needs, tried);
    needs.onFailure(error);
  }
}

/**
 * Starts the workflow of a delivery.
 * @param options.made the attempt that was made, and the wait with which the workflow begins
 * @param options.claim what became of the claim: an attempt has used it, the workflow's first attempt has it, or no
 *   attempt
 * @param options.slow the endpoint's receiver answers slowly
 */
async function start(
  needs: HandOverTools,
  work: Work,
  { slow, made, claim }: { slow: boolean; made?: Work['tried']; claim: 'used' | 'handed on' | 'unused' },
): Promise<void> {
  const { now, window, settlement, starter, tracing } = needs;
  const since = now();
  await window.enter();
  try {
    if (isTemporalPaused(needs)) return giveBack(needs, work);
    const waiting = made && shorten(made.waiting, now() - since);
    // At a paced endpoint its attempt needs the next claim. The attempt that was made has spent the permit.
    if (claim === 'used' && work.paced && waiting?.delayMs === 0)
      return settlement.release({ ...work, paced: false });
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
    const outcome = await viaTemporal(needs, () =>
      traceDelivery(tracing, work, `StartWorkflow:${DELIVERY_WORKFLOW}`, (trace) =>
        starter.start({ ...request, trace }),
      ),
    );
    if (claim === 'unused') settlement.unused(work, true);
    else settlement.done(work, true);
    if (outcome === 'exists') needs.slots.remove(work.deliveryId);
  } finally {
    window.leave();
  }
}

async function signal(needs: HandOverTools, work: Work): Promise<void> {
  if (isTemporalPaused(needs)) return giveBack(needs, work);
  const { starter, settlement } = needs;
  const delivery = { deliveryId: work.deliveryId, generation: work.generation };
  const received = await viaTemporal(needs, () =>
    work.kind === 'wake'
      ? starter.signal(delivery, 'wake', work.epoch)
      : starter.signal(delivery, work.command === 'cancel' ? 'cancel' : 'retryNow'),
  );
  if (received) return settlement.done(work, true);
  needs.slots.remove(work.deliveryId);
  // The workflow is gone, so an unfinished delivery gets a workflow of the next generation.
  if (work.command !== 'cancel') await store.restart(needs.database, { ...delivery, outboxId: newId() });
  settlement.unused(work, false);
}

/**
 * Drops a row whose delivery has ended. Its workflow may wait all the same, when another attempt has ended the
 * delivery: it is signalled, reads the row and ends.
 */
async function dismiss(needs: HandOverTools, work: Work): Promise<void> {
  const { deliveryId, generation, kind } = work;
  if (kind !== 'first' && isTemporalPaused(needs)) return giveBack(needs, work);
  needs.slots.remove(deliveryId);
  if (kind !== 'first')
    await viaTemporal(needs, () => needs.starter.signal({ deliveryId, generation }, 'cancel'));
  needs.settlement.unused(work, false);
}

function giveBack({ slots, settlement }: HandOverTools, work: Work): void {
  if (work.kind !== 'command') slots.remove(work.deliveryId);
  settlement.release(work);
}

/** Calls Temporal. A failure begins a pause before the next call. @throws the error of the call */
async function viaTemporal<T>({ temporalPause }: HandOverTools, call: () => Promise<T>): Promise<T> {
  try {
    const result = await call();
    temporalPause.end();
    return result;
  } catch (error) {
    temporalPause.begin();
    throw error;
  }
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
