// Records attempts and decides, under the delivery's lock, what follows. Safe to repeat: an attempt counts once, and a 2xx wins.

import { serviceContext } from '../../audit/audit.ts';
import type { RecordService } from '../../events/record.service.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { AttemptMetrics } from './attempt.metrics.ts';
import * as attemptStore from './attempt.store.ts';
import {
  type DeliveredRecord,
  type LoadedDelivery,
  type LockedDelivery,
  numbered,
  type StoredStatus,
} from './attempt.store.ts';
import { type AttemptReport, outcomeCode, type RecordResult, type Step } from './attempt.ts';
import { type NextStep, nextStep } from './next-step.ts';
import { MAX_RETRY_AFTER_MS, readRetryPolicy } from './retry-schedule.ts';

/** Deactivates a subscription whose endpoint is gone, with all that belongs to it, in the caller's transaction. */
export type SubscriptionDeactivation = {
  deactivateGone(
    unit: Transaction,
    subscription: { tenantId: string; subscriptionId: string },
  ): Promise<unknown>;
};

type Owner = Pick<
  LoadedDelivery,
  'tenantId' | 'subscriptionId' | 'test' | 'endpointFailing' | 'url' | 'createdAt'
>;
type Place = { tenantId: string; subscriptionId: string };

/** `workflow`: a workflow asks, and its generation is noted in the row; otherwise the row says that one is needed. */
export type RecordOptions = { readonly workflow: boolean; readonly owner?: Owner | undefined };

/** The records of attempts. Source: Specification, "Delivery"; the schedule is the platform's retry policy. */
export function createAttemptRecordService({
  database,
  store = attemptStore,
  records,
  endpoints,
  subscriptions,
  metrics,
  random = Math.random,
}: {
  database: Pick<Database, 'query' | 'transaction'>;
  /** Another one in tests of faults. */
  store?: typeof attemptStore | undefined;
  records: Pick<RecordService, 'write'>;
  endpoints: Pick<EndpointService, 'noteFailure' | 'noteSuccess'>;
  subscriptions: SubscriptionDeactivation;
  metrics?: Pick<AttemptMetrics, 'ended'> | undefined;
  random?: (() => number) | undefined;
}) {
  // A delivery stands in a batch once: its second POST of the same moment is recorded with the next.
  const successes = createCoalescer<DeliveredRecord, number | undefined>({
    run: async (batch) => {
      const first = new Map(batch.map((one) => [one.report.deliveryId, one] as const).reverse());
      const sent = batch.filter((one) => first.get(one.report.deliveryId) === one);
      const numbers = await store.recordDelivered(database, sent);
      const results = new Map(sent.map((one, index) => [one, numbers[index]]));
      return batch.map((one) => results.get(one));
    },
    sizeOf: ({ report }) => ({ rows: 1, bytes: 500 + (report.responseExcerpt?.length ?? 0) }),
  });

  const record = async (report: AttemptReport, options: RecordOptions): Promise<RecordResult> => {
    const outcome = outcomeCode(report.outcome);
    const owner = options.owner ?? (await store.load(database, [report]))[0];
    if (owner === undefined) return { step: ended('canceled'), last: { n: report.n, outcome } };
    const place = { tenantId: owner.tenantId, subscriptionId: owner.subscriptionId };
    const workflow = options.workflow ? report.generation : null;
    if (report.outcome.kind !== 'delivered') {
      const failure = { place, test: owner.test, url: owner.url, workflow };
      const { step, n } = await database.transaction({}, (unit) => recordFailure(unit, report, failure));
      if (step.kind === 'ended') metrics?.ended(step.status);
      return { step, last: { n, outcome } };
    }
    const delivered = { ...place, workflow };
    const n = owner.endpointFailing
      ? await database.transaction({}, (unit) => recordRecovery(unit, report, delivered))
      : await numbered(() => successes.add({ report, ...delivered }));
    metrics?.ended('delivered', { report: { ...report, n }, acceptedAt: owner.createdAt });
    return { step: ended('delivered'), last: { n, outcome } };
  };

  /** A 2xx of an endpoint that had failed: its row first, then the endpoint, then the delivery, as for a failure. */
  const recordRecovery = async (
    unit: Transaction,
    report: AttemptReport,
    owner: Place & { workflow: number | null },
  ): Promise<number> => {
    await store.insertAttempt(unit, report, owner);
    await endpoints.noteSuccess(unit, owner.subscriptionId);
    return numbered(async () => (await store.recordDelivered(unit, [{ report, ...owner }]))[0]);
  };

  const recordFailure = async (
    unit: Transaction,
    made: AttemptReport,
    { place, test, url, workflow }: { place: Place; test: boolean; url: string; workflow: number | null },
  ): Promise<{ step: Step; n: number }> => {
    const { outcome } = made;
    const { n, fresh } = await store.insertAttempt(unit, made, place);
    const report = { ...made, n };
    // What a URL has answered that is not the subscription's any more says nothing of the endpoint.
    const former =
      url !== (await store.readUrl(unit, place.subscriptionId, { share: outcome.kind !== 'gone' }));
    if (fresh && !former && (outcome.kind !== 'gone' || report.probe)) {
      const hold = outcome.kind === 'retry' && outcome.hold;
      const holdMs = hold ? Math.min(outcome.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : null;
      const { deliveryId, probe } = report;
      const refused = outcome.kind === 'rejected';
      const error = outcomeCode(outcome);
      await endpoints.noteFailure(unit, { ...place, deliveryId, holdMs, probe, refused, error });
    }
    if (fresh && !former && outcome.kind === 'gone' && !test) await subscriptions.deactivateGone(unit, place);
    const row = await store.lock(unit, report.deliveryId);
    if (row === undefined) return { step: ended('canceled'), n };
    if (!fresh) return { step: stepOfRow(row, report.generation), n };
    if (row.generation !== report.generation || stepOfStatus(row.status) !== undefined) {
      await store.countAttempt(unit, report.deliveryId, n);
      return { step: stepOfRow(row, report.generation), n };
    }
    return { step: await settle(unit, report, { row, workflow, former }), n };
  };

  /** Writes what follows a failed attempt; the row is locked, and its intents are what they are when this commits. */
  const settle = async (
    unit: Transaction,
    report: AttemptReport,
    { row, workflow, former }: { row: LockedDelivery; workflow: number | null; former: boolean },
  ): Promise<Step> => {
    const asked = row.retryRequestedAt !== null && row.retryRequestedAt > new Date(report.startedAt);
    const next = nextStep({
      outcome: report.outcome,
      failedAttempts: row.failedAttempts,
      policy: readRetryPolicy(row.retryPolicy),
      retryRequested: asked || former,
      probe: report.probe,
      random: random(),
    });
    if (next.kind === 'delivered') return ended('delivered');
    const failed = next.kind === 'failed';
    await store.recordFailed(unit, report, {
      status: failed ? 'failed' : 'retrying',
      failedAttempts: next.failedAttempts,
      delayMs: failed ? null : next.delayMs,
      needsWorkflow: !failed && workflow === null,
      workflow,
    });
    if (!failed) return { kind: 'wait', delayMs: next.delayMs };
    await announceFailure(unit, report, row, next);
    return ended('failed');
  };

  const announceFailure = async (
    unit: Transaction,
    report: AttemptReport,
    row: LockedDelivery,
    { reason }: Extract<NextStep, { kind: 'failed' }>,
  ): Promise<void> => {
    // An event about a failed event about a failed event would never end, and of a test nobody but who asked for it wants to know.
    if (row.test || row.eventType.startsWith('webhook.')) return;
    const data = {
      delivery_id: report.deliveryId,
      subscription_id: row.subscriptionId,
      event_id: row.eventId,
      event_type: row.eventType,
      reason,
      attempt_count: Math.max(row.attemptCount, report.n),
      last_status_code: report.outcome.statusCode,
      last_error: outcomeCode(report.outcome),
    };
    const type = 'webhook.delivery.failed';
    const context = serviceContext({ id: row.tenantId }, newId());
    const { delivery_id: id, ...facts } = data;
    await records.write(unit, context, {
      audit: [{ action: type, outcome: 'failure', target: { type: 'delivery', id }, data: facts }],
      events: [{ type, data, exceptSubscription: row.subscriptionId }],
    });
  };

  return {
    /**
     * Records a POST: its row, what it means for its endpoint, and what follows for its delivery, in one transaction (one statement for
     * a 2xx of an endpoint that works).
     * @returns what the workflow does next; of an attempt that was recorded before, what the row says now
     */
    record,
  };
}

export type AttemptRecordService = ReturnType<typeof createAttemptRecordService>;

const ended = (status: Extract<Step, { kind: 'ended' }>['status']): Step => ({ kind: 'ended', status });

/** The end that a stored status stands for, undefined while it is not one. */
export function stepOfStatus(status: StoredStatus): Step | undefined {
  return status === 'pending' || status === 'retrying' ? undefined : ended(status);
}

function stepOfRow(row: LockedDelivery, generation: number): Step {
  if (row.generation !== generation) return ended('superseded');
  return stepOfStatus(row.status) ?? { kind: 'wait', delayMs: row.dueInMs ?? 0 };
}
