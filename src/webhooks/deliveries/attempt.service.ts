// Makes attempts and has them recorded. The delivery's row decides whether an attempt is due. When the record of a POST
// fails, only the record is repeated, not the POST.

import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Log } from '../../platform/logging.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointOccupancy } from '../endpoints/endpoint-occupancy.ts';
import * as permits from '../endpoints/endpoint-permit.store.ts';
import { isSlow } from '../endpoints/endpoint-speed.ts';
import * as deliveryRows from '../rows/delivery-row.store.ts';
import { needsTenantKeys } from '../signing/signatures.ts';
import type { PrepareSigner } from '../signing/tenant-signer.node.ts';
import type { SecurityEventService } from '../streams/security-event.service.ts';
import { enclose } from '../subscriptions/envelope.ts';
import type { SubscriptionSealing } from '../subscriptions/subscription-sealing.service.ts';
import type { AttemptMetrics } from './attempt.metrics.ts';
import type { LoadedDelivery } from './attempt.store.ts';
import * as attemptStore from './attempt.store.ts';
import { type AttemptReport, type AttemptRequest, ended, type SendResult, type Step } from './attempt.ts';
import type { AttemptMonitor } from './attempt-monitor.service.ts';
import type { AttemptRecordService } from './attempt-record.service.ts';
import type { Attempt, AttemptResult, DeliverySender } from './delivery.client.ts';
import { isUnfinished } from './delivery.ts';

/**
 * `workflow`: a workflow makes the attempt, not a relay. `loaded`: the delivery as it was just read. `signal` ends the
 * attempt when its process must stop.
 */
export type AttemptOptions = {
  readonly workflow: boolean;
  readonly loaded?: LoadedDelivery | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** The most deliveries that one statement loads. A body has up to 256 KiB. */
const MOST_LOADED = 32;

/** How often a delivery is read again because its endpoint has opened, or has had a free place, since it was read. */
const MOST_READS = 5;

/** To be parked and woken costs a workflow more. */
const PLACE_WAIT = 500;

export type AttemptNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  store?: typeof attemptStore | undefined;
  sender: DeliverySender;
  sealing: Pick<SubscriptionSealing, 'openSecret' | 'openHeaders'>;
  /** Composes the tokens of streams. Without it, only subscriptions that are no streams are served. */
  securityEvents?: Pick<SecurityEventService, 'compose'> | undefined;
  deliveryKeys: { readonly prepare: PrepareSigner };
  attemptRecords: AttemptRecordService;
  monitor: Pick<AttemptMonitor, 'begin' | 'end'>;
  occupancy: Pick<EndpointOccupancy, 'enter' | 'leave' | 'onLeave' | 'size'>;
  /** Notifies the relays that a delivery waits for a place of an open endpoint. */
  notifier: { poke(): void };
  metrics?: Pick<AttemptMetrics, 'begun' | 'begunFirst' | 'held' | 'made' | 'ended'> | undefined;
  log: Log<'warn'>;
  /** Milliseconds that an attempt waits for a place of its endpoint. */
  placeWait?: number | undefined;
};

/** Attempts of deliveries. Source: Specification, "Delivery" and "Receiver behaviour expected". */
export class AttemptService extends Service<AttemptNeeds> {
  readonly #store = this.needs.store ?? attemptStore;
  readonly #placeWait = this.needs.placeWait ?? PLACE_WAIT;
  // The batch is read after its last request arrived, so each request gets a row as recent as by a separate read.
  readonly #loads = createCoalescer<AttemptRequest, LoadedDelivery | undefined>({
    run: (requests) => this.#store.load(this.needs.database, requests),
    limits: { rows: MOST_LOADED },
  });

  /**
   * Makes and records an attempt. It makes none when the delivery has ended, belongs to a newer generation, is not
   * due yet, or its endpoint is closed.
   * @returns the next step; `unrecorded` with the report when a POST was made and the database was unreachable
   * @throws when the database cannot be read or the attempt is aborted; then, as far as is known, no POST was made
   */
  send = async (asked: AttemptRequest, options: AttemptOptions): Promise<SendResult> => {
    const { deliveryId } = asked;
    let request = asked;
    const seen: { delivery?: LoadedDelivery | undefined; result?: AttemptResult | undefined } = {};
    this.needs.monitor.begin(deliveryId);
    try {
      for (let reads = 0; reads < MOST_READS; reads += 1) {
        const delivery = reads === 0 && options.loaded ? options.loaded : await this.#loads.add(request);
        seen.delivery = delivery;
        if (delivery === undefined) return { kind: 'settled', step: ended('canceled') };
        const step = await this.#refuse(delivery, request);
        if (step !== undefined) {
          await this.#returnPermit(delivery, request);
          // A relay that comes late finds that the delivery waits in the crowd of its endpoint.
          const isCrowded = !options.workflow && step.kind === 'wait' && !delivery.ownWorkflow;
          return { kind: 'settled', step, last: lastOf(delivery), ...(isCrowded && { crowded: true }) };
        }
        const passes = mayPass(delivery, request);
        if (passes && this.#enter(delivery, request)) {
          seen.result = await this.#post(delivery, request, options.signal);
          return await this.#recordNow(delivery, reportOf(delivery, request, seen.result), options);
        }
        if (passes && (await this.#placeLeft(delivery.subscriptionId))) continue;
        const grant = passes ? undefined : await this.#takePermit(delivery, options);
        if (grant !== undefined) {
          request = { ...request, grant };
          continue;
        }
        const epoch = await this.#park(delivery, request, { ...options, full: passes });
        if (epoch !== undefined) {
          this.needs.metrics?.held();
          return { kind: 'settled', step: { kind: 'held', epoch }, last: lastOf(delivery) };
        }
      }
      if (seen.delivery !== undefined) await this.#returnPermit(seen.delivery, request);
      return { kind: 'settled', step: { kind: 'wait', delayMs: 1_000 } };
    } finally {
      this.needs.monitor.end({
        deliveryId,
        subscriptionId: seen.delivery?.subscriptionId,
        durationMs: seen.result?.durationMs,
      });
    }
  };

  /** Makes the POST of a delivery that has taken a place of its endpoint, and gives the place back. */
  #post = async (
    delivery: LoadedDelivery,
    request: AttemptRequest,
    signal: AbortSignal | undefined,
  ): Promise<AttemptResult> => {
    const { subscriptionId, signatures, tenantId } = delivery;
    try {
      const signer = needsTenantKeys(signatures)
        ? await this.needs.deliveryKeys.prepare(tenantId)
        : undefined;
      if (delivery.endpointRated && !isGranted(delivery, request))
        await permits.spendToken(this.needs.database, subscriptionId);
      if (delivery.attemptCount > 0) this.needs.metrics?.begun(delivery.lateMs);
      else if (delivery.endpointSteady && this.needs.occupancy.size(subscriptionId) < delivery.endpointCap)
        this.needs.metrics?.begunFirst(clockOf(delivery)() - delivery.createdAt.getTime());
      const attempt =
        delivery.streamAudience === null
          ? this.#attemptOf(delivery, request, signer, signal)
          : await this.#tokenAttemptOf(delivery, request, signal);
      const result = await this.needs.sender.send(attempt);
      this.needs.metrics?.made(result);
      return result;
    } finally {
      this.needs.occupancy.leave(subscriptionId, request.deliveryId);
    }
  };

  /**
   * Takes a permit for the retry of a workflow where nothing waits for the endpoint. A relay would give it to the same
   * delivery, but only after its workflow was parked and woken. @returns the endpoint's epoch, as that of a claim
   */
  #takePermit = async (
    { endpointOpen, subscriptionId }: LoadedDelivery,
    { workflow }: AttemptOptions,
  ): Promise<number | undefined> =>
    workflow && endpointOpen
      ? (await permits.takePermit(this.needs.database, subscriptionId))?.epoch
      : undefined;

  /** Returns the permit of an attempt that is not made, so that the endpoint's next delivery can begin. */
  #returnPermit = async (delivery: LoadedDelivery, request: AttemptRequest): Promise<void> => {
    if (!delivery.endpointPaced || !isGranted(delivery, request)) return;
    if (await permits.returnPermit(this.needs.database, delivery.subscriptionId, delivery.endpointEpoch))
      this.needs.notifier.poke();
  };

  /** Takes a place of the endpoint, unless the relay has taken it. @returns false when all are taken */
  #enter = ({ subscriptionId, endpointCap }: LoadedDelivery, { deliveryId }: AttemptRequest): boolean =>
    this.needs.occupancy.enter(subscriptionId, deliveryId, endpointCap);

  /** Waits until an attempt leaves the endpoint. @returns false when none has left in time */
  #placeLeft = (subscriptionId: string): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => {
        end();
        resolve(false);
      }, this.#placeWait);
      const end = this.needs.occupancy.onLeave(subscriptionId, () => {
        clearTimeout(timer);
        resolve(true);
      });
    });

  /** @returns the step that replaces an attempt which may not begin now; undefined when it may begin */
  #refuse = async (delivery: LoadedDelivery, request: AttemptRequest): Promise<Step | undefined> => {
    if (delivery.generation !== request.generation) return ended('superseded');
    if (!isUnfinished(delivery.status)) return ended(delivery.status);
    if (delivery.endpointDeleted) return this.#end(request.deliveryId, 'canceled', null);
    if (delivery.body === null) return this.#end(request.deliveryId, 'failed', 'event:expired');
    const waits = delivery.dueInMs !== null && delivery.dueInMs > 0 && !delivery.retryRequested;
    if (waits || delivery.recorded) return { kind: 'wait', delayMs: delivery.dueInMs ?? 0 };
    return undefined;
  };

  #end = async (deliveryId: string, status: 'canceled' | 'failed', error: string | null) => {
    await deliveryRows.end(this.needs.database, deliveryId, status, error);
    this.needs.metrics?.ended(status);
    return ended(status);
  };

  /**
   * Parks a delivery: it waits until its endpoint can take it.
   * @param options.full the endpoint is open and all its places are taken
   * @returns the endpoint's epoch; undefined when the endpoint has opened or another attempt has ended the delivery,
   *   which must then be read again
   */
  #park = (
    delivery: LoadedDelivery,
    request: AttemptRequest,
    { workflow, full }: AttemptOptions & { readonly full: boolean },
  ): Promise<number | undefined> =>
    this.needs.database.transaction({}, async (unit) => {
      const endpoint = await this.#store.shareEndpoint(unit, delivery.subscriptionId);
      if (endpoint === undefined || endpoint.deleted) return undefined;
      const limited = full || endpoint.paced || endpoint.rated;
      if (endpoint.open && (!limited || request.grant === endpoint.epoch)) return undefined;
      // Without a workflow nothing is parked, because the delivery still has its row of the outbox.
      const { deliveryId, generation } = request;
      if (workflow && !(await deliveryRows.park(unit, deliveryId, generation, endpoint.epoch, newId())))
        return undefined;
      if (endpoint.open) unit.afterCommit(() => this.needs.notifier.poke());
      return endpoint.epoch;
    });

  #recordNow = async (
    delivery: LoadedDelivery,
    report: AttemptReport,
    { workflow }: AttemptOptions,
  ): Promise<SendResult> => {
    try {
      const recorded = await this.needs.attemptRecords.record(report, { workflow, owner: delivery });
      return { kind: 'settled', ...recorded, slow: isSlow(report.durationMs) };
    } catch (error) {
      this.needs.log.warn(
        { event: 'deliveries.attempt_unrecorded', err: error },
        'an attempt was made; its record waits for the database',
      );
      return { kind: 'unrecorded', report: withoutExcerpt(report) };
    }
  };

  #attemptOf = (
    delivery: LoadedDelivery,
    request: AttemptRequest,
    signer: Attempt['signer'],
    signal: AbortSignal | undefined,
  ): Attempt => {
    const id = delivery.subscriptionId;
    const current = this.needs.sealing.openSecret(id, delivery.secretSealed);
    const next = delivery.nextSecretSealed && this.needs.sealing.openSecret(id, delivery.nextSecretSealed);
    const { body, contentType, headers } = enclose(delivery.envelope, delivery.body ?? new Uint8Array());
    return {
      url: delivery.url,
      headers: { ...this.needs.sealing.openHeaders(id, delivery.headersSealed), ...headers },
      body,
      contentType,
      // After the overlap only the new secret signs, even if the workflow has not removed the old one yet.
      secrets: next === null ? { current } : delivery.overlapEnded ? { current: next } : { current, next },
      signatures: delivery.signatures,
      signer,
      maxAge: delivery.maxAge,
      deliveryId: request.deliveryId,
      eventType: delivery.eventType,
      signal,
      now: clockOf(delivery),
    };
  };

  /** An attempt of a stream: a security event token, which is signed itself. */
  #tokenAttemptOf = async (
    delivery: LoadedDelivery,
    { deliveryId }: AttemptRequest,
    signal: AbortSignal | undefined,
  ): Promise<Attempt> => {
    const { subscriptionId: streamId, tenantId, eventType, maxAge, url } = delivery;
    if (this.needs.securityEvents === undefined)
      throw new Error('this process composes no security event tokens');
    const now = clockOf(delivery);
    const token = await this.needs.securityEvents.compose({
      tenantId,
      streamId,
      deliveryId,
      audience: delivery.streamAudience ?? '',
      body: delivery.body ?? new Uint8Array(),
      at: now(),
    });
    const headers = this.needs.sealing.openHeaders(streamId, delivery.headersSealed);
    return {
      url,
      headers,
      body: Buffer.from(token),
      secrets: null,
      maxAge,
      deliveryId,
      eventType,
      signal,
      now,
    };
  };
}

/** The database's time, because the clock of a worker may be wrong, and a receiver refuses a wrong time for good. */
function clockOf({ loadedAt, readAt }: LoadedDelivery): () => number {
  return () => loadedAt.getTime() + performance.now() - readAt;
}

function lastOf(delivery: LoadedDelivery) {
  if (delivery.lastOutcome === null) return undefined;
  return { n: delivery.attemptCount, outcome: delivery.lastOutcome };
}

/**
 * @returns whether the endpoint accepts this attempt now. An endpoint that is paced or has a rate accepts only
 *   attempts that the relay let begin, and retries that a person asked for.
 */
function mayPass(delivery: LoadedDelivery, request: AttemptRequest): boolean {
  const { endpointOpen, endpointPaced, endpointRated, retryRequested } = delivery;
  return (
    endpointOpen && (!(endpointPaced || endpointRated) || retryRequested || isGranted(delivery, request))
  );
}

/** @returns whether the relay let this attempt begin and the endpoint's epoch is still the same */
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

/** Removes the excerpt, because a receiver's text must not be stored in Temporal. */
function withoutExcerpt({ responseExcerpt: _, ...report }: AttemptReport): AttemptReport {
  return report;
}
