// Makes an attempt and has it recorded. Postgres decides each time whether there is one to make; a POST that was made is never made
// again because its record failed.

import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Log } from '../../platform/logging.ts';
import type { EndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import { isSlow } from '../endpoints/endpoint-speed.ts';
import type { SubscriptionSealing } from '../subscriptions/subscription-sealing.service.ts';
import type { AttemptMetrics } from './attempt.metrics.ts';
import type { LoadedDelivery } from './attempt.store.ts';
import * as attemptStore from './attempt.store.ts';
import type { AttemptReport, AttemptRequest, SendResult, Step } from './attempt.ts';
import type { AttemptMonitor } from './attempt-monitor.service.ts';
import { type AttemptRecordService, stepOfStatus } from './attempt-record.service.ts';
import type { AttemptResult, DeliverySender } from './delivery.client.ts';

/** `workflow`: a workflow asks, not a relay. `signal` ends the attempt when its process must stop. */
export type AttemptOptions = { readonly signal?: AbortSignal | undefined; readonly workflow: boolean };

/** Bodies are up to 256 KiB each. */
const LOADED_AT_ONCE = 32;

/** How often a send looks again when its endpoint opened while it went to wait for it. */
const MOST_LOOKS = 5;

/** Attempts of deliveries. Source: Specification, "Delivery" and "Receiver behaviour expected". */
export function createAttemptService({
  database,
  store = attemptStore,
  sender,
  sealing,
  attemptRecords,
  monitor,
  occupancy,
  notifier,
  metrics,
  log,
}: {
  database: Pick<Database, 'query' | 'transaction'>;
  /** Another one in tests of faults. */
  store?: typeof attemptStore | undefined;
  sender: DeliverySender;
  sealing: Pick<SubscriptionSealing, 'openSecret' | 'openHeaders'>;
  attemptRecords: AttemptRecordService;
  monitor: Pick<AttemptMonitor, 'begin' | 'end'>;
  occupancy: Pick<EndpointOccupancy, 'enter' | 'leave'>;
  /** Tells the relays of what waits in an endpoint that is open. */
  notifier?: { poke(): void } | undefined;
  metrics?: Pick<AttemptMetrics, 'begun' | 'held' | 'made' | 'ended'> | undefined;
  log: Log<'warn'>;
}) {
  // Each read begins after its attempt was asked for, so nothing in it is older than alone.
  const loads = createCoalescer<AttemptRequest, LoadedDelivery | undefined>({
    run: (requests) => store.load(database, requests),
    limits: { rows: LOADED_AT_ONCE },
  });

  const send = async (request: AttemptRequest, options: AttemptOptions): Promise<SendResult> => {
    const { deliveryId } = request;
    const seen: { delivery?: LoadedDelivery | undefined; result?: AttemptResult | undefined } = {};
    monitor.begin(deliveryId);
    try {
      for (let look = 0; look < MOST_LOOKS; look += 1) {
        const delivery = await loads.add(request);
        seen.delivery = delivery;
        if (delivery === undefined) return { kind: 'settled', step: ended('canceled') };
        const step = await refuse(delivery, request);
        if (step !== undefined) {
          await returnPermit(delivery, request);
          return { kind: 'settled', step, last: lastOf(delivery) };
        }
        const passes = mayPass(delivery, request);
        if (passes && enter(delivery, request)) {
          try {
            if (delivery.endpointRated && !isGranted(delivery, request))
              await store.spendToken(database, delivery.subscriptionId);
            // No timer waits for a first attempt: how late it is, the relay lag tells.
            if (delivery.attemptCount > 0) metrics?.begun(delivery.lateMs);
            seen.result = await sender.send(attemptOf(delivery, request, options.signal));
            metrics?.made(seen.result);
          } finally {
            occupancy.leave(delivery.subscriptionId, deliveryId);
          }
          return await recordNow(delivery, reportOf(delivery, request, seen.result), options);
        }
        const epoch = await park(delivery, request, { ...options, full: passes });
        if (epoch !== undefined) {
          metrics?.held();
          return { kind: 'settled', step: { kind: 'held', epoch }, last: lastOf(delivery) };
        }
      }
      return { kind: 'settled', step: { kind: 'wait', delayMs: 1_000 } };
    } finally {
      monitor.end({
        deliveryId,
        subscriptionId: seen.delivery?.subscriptionId,
        durationMs: seen.result?.durationMs,
        failed: seen.result?.outcome.kind === 'retry',
      });
    }
  };

  /** An attempt that was let begin and is not due yet, or is over, must not hold up those behind it. */
  const returnPermit = async (delivery: LoadedDelivery, request: AttemptRequest): Promise<void> => {
    if (!delivery.endpointPaced || !isGranted(delivery, request)) return;
    if (await store.returnPermit(database, delivery.subscriptionId, delivery.endpointEpoch)) notifier?.poke();
  };

  /** What the relay let begin has its place already; whatever else finds none waits like what meets a closed endpoint. */
  const enter = (delivery: LoadedDelivery, request: AttemptRequest): boolean =>
    occupancy.enter(
      delivery.subscriptionId,
      request.deliveryId,
      isGranted(delivery, request) ? Number.POSITIVE_INFINITY : delivery.endpointCap,
    );

  /** Why no attempt may begin now, or undefined. */
  const refuse = async (delivery: LoadedDelivery, request: AttemptRequest): Promise<Step | undefined> => {
    if (delivery.generation !== request.generation) return ended('superseded');
    const over = stepOfStatus(delivery.status);
    if (over !== undefined) return over;
    if (delivery.endpointDeleted) return end(request.deliveryId, 'canceled', null);
    if (delivery.body === null) return end(request.deliveryId, 'failed', 'event:expired');
    const waits = delivery.dueInMs !== null && delivery.dueInMs > 0 && !delivery.retryRequested;
    if (waits || delivery.recorded) return { kind: 'wait', delayMs: delivery.dueInMs ?? 0 };
    return undefined;
  };

  const end = async (deliveryId: string, status: 'canceled' | 'failed', error: string | null) => {
    await store.end(database, deliveryId, status, error);
    metrics?.ended(status);
    return ended(status);
  };

  /**
   * @param full the endpoint is open, and has no place
   * @returns the endpoint's epoch, or undefined when the endpoint is open after all and the row must be read again
   */
  const park = (
    delivery: LoadedDelivery,
    request: AttemptRequest,
    { workflow, full }: AttemptOptions & { readonly full: boolean },
  ): Promise<number | undefined> =>
    database.transaction({}, async (unit) => {
      const endpoint = await store.shareEndpoint(unit, delivery.subscriptionId);
      if (endpoint === undefined || endpoint.deleted) return undefined;
      const limited = full || endpoint.paced || endpoint.rated;
      if (endpoint.open && (!limited || request.grant === endpoint.epoch)) return undefined;
      // Without a workflow there is nobody to wake: the relay keeps its own row.
      if (workflow) await store.park(unit, { ...request, epoch: endpoint.epoch, outboxId: newId() });
      if (endpoint.open) unit.afterCommit(() => notifier?.poke());
      return endpoint.epoch;
    });

  const recordNow = async (
    delivery: LoadedDelivery,
    report: AttemptReport,
    { workflow }: AttemptOptions,
  ): Promise<SendResult> => {
    try {
      const recorded = await attemptRecords.record(report, { workflow, owner: delivery });
      return { kind: 'settled', ...recorded, slow: isSlow(report.durationMs) };
    } catch (error) {
      log.warn(
        { event: 'deliveries.attempt_unrecorded', err: error },
        'an attempt was made; its record waits for the database',
      );
      return { kind: 'unrecorded', report: withoutExcerpt(report) };
    }
  };

  const attemptOf = (delivery: LoadedDelivery, request: AttemptRequest, signal: AbortSignal | undefined) => {
    const id = delivery.subscriptionId;
    const current = sealing.openSecret(id, delivery.secretSealed);
    const next = delivery.nextSecretSealed && sealing.openSecret(id, delivery.nextSecretSealed);
    return {
      url: delivery.url,
      headers: sealing.openHeaders(id, delivery.headersSealed),
      body: delivery.body ?? new Uint8Array(),
      // Once the overlap is over the new secret is the only one, whether or not its workflow has tidied up yet.
      secrets: next === null ? { current } : delivery.overlapEnded ? { current: next } : { current, next },
      maxAge: delivery.maxAge,
      deliveryId: request.deliveryId,
      eventType: delivery.eventType,
      signal,
    };
  };

  return {
    /**
     * Makes the attempt that is asked for, unless the delivery has ended, belongs to a newer generation, is not due yet, or
     * its endpoint is closed; then says what to do instead. The POST's record is part of it.
     * @returns what follows; `unrecorded` with the report when the POST was made and the database could not be told
     * @throws when the database cannot be read, or the attempt is aborted: nothing was posted that is known of
     */
    send,
  };
}

export type AttemptService = ReturnType<typeof createAttemptService>;

const ended = (status: Extract<Step, { kind: 'ended' }>['status']): Step => ({ kind: 'ended', status });

function lastOf(delivery: LoadedDelivery) {
  if (delivery.lastOutcome === null) return undefined;
  return { n: delivery.attemptCount, outcome: delivery.lastOutcome };
}

/** Whether the endpoint takes this attempt. While it comes back, or has a rate, it takes what the relay let begin, and what a person asked for. */
function mayPass(delivery: LoadedDelivery, request: AttemptRequest): boolean {
  const { endpointOpen, endpointPaced, endpointRated, retryRequested } = delivery;
  return (
    endpointOpen && (!(endpointPaced || endpointRated) || retryRequested || isGranted(delivery, request))
  );
}

/** Whether the relay let this attempt begin, and the endpoint has not closed since. */
function isGranted({ endpointEpoch }: LoadedDelivery, { grant }: AttemptRequest): boolean {
  return grant === endpointEpoch;
}

function reportOf(delivery: LoadedDelivery, request: AttemptRequest, result: AttemptResult): AttemptReport {
  return {
    deliveryId: request.deliveryId,
    generation: request.generation,
    n: Math.max(request.n, delivery.attemptCount + 1),
    probe: delivery.endpointDown,
    startedAt: delivery.loadedAt.toISOString(),
    durationMs: result.durationMs,
    phases: result.phases,
    outcome: result.outcome,
    retryAfterSeconds: result.retryAfterSeconds,
    responseExcerpt: result.responseExcerpt,
  };
}

/** What a receiver wrote does not travel through Temporal. */
function withoutExcerpt({ responseExcerpt: _, ...report }: AttemptReport): AttemptReport {
  return report;
}
