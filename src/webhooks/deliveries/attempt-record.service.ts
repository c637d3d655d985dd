// Records attempts and their consequences for the delivery and its endpoint. A repeated record changes nothing, and a
// 2xx wins over an earlier record of the same attempt.
// docs/decisions/0007-attempts.md

import { serviceContext } from '../../audit/audit.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { AttemptMetrics } from './attempt.metrics.ts';
import * as attemptStore from './attempt.store.ts';
import {
  type DeliveredRecord,
  type LoadedDelivery,
  type LockedDelivery,
  numbered,
  type RecordedDelivery,
} from './attempt.store.ts';
import { type AttemptReport, ended, outcomeCode, type RecordResult, type Step } from './attempt.ts';
import { isUnfinished } from './delivery.ts';
import { type NextStep, nextStep } from './next-step.ts';
import { readRetryPolicy } from './retry-schedule.ts';

/** The most successes in one statement, whose joins compare each of them with each. */
const MOST_RECORDED = 64;

export type SubscriptionDeactivation = {
  deactivateGone(
    unit: Transaction,
    subscription: { tenantId: string; subscriptionId: string },
  ): Promise<unknown>;
};

type Owner = Pick<
  LoadedDelivery,
  'tenantId' | 'subscriptionId' | 'test' | 'endpointFailing' | 'endpointProven' | 'url' | 'createdAt'
>;

/**
 * `workflow` is true when a workflow made the attempt: its generation is then stored in the delivery's row. When a
 * relay made the attempt, the row notes instead that a workflow is needed. A missing `owner` is read.
 */
export type RecordOptions = { readonly workflow: boolean; readonly owner?: Owner | undefined };

type Recorded = { readonly step: Step; readonly n: number; readonly parked?: boolean };

export type AttemptRecordNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  store?: typeof attemptStore | undefined;
  records: Pick<RecordService, 'write'>;
  endpoints: Pick<EndpointService, 'noteFailure' | 'noteSuccess'>;
  subscriptions: SubscriptionDeactivation;
  /** Notifies the relays of a command for a workflow that waits although its delivery has ended. */
  notifier: { poke(): void };
  metrics?: Pick<AttemptMetrics, 'ended'> | undefined;
  random?: (() => number) | undefined;
};

/** Records attempts. Source: Specification, "Delivery"; the schedule is the platform's retry policy. */
export function createAttemptRecordService(needs: AttemptRecordNeeds) {
  const tools = prepareAttemptRecord(needs);
  return bindUseCases(tools, { record });
}

export type AttemptRecordService = ReturnType<typeof createAttemptRecordService>;

type AttemptRecordTools = ReturnType<typeof prepareAttemptRecord>;

function prepareAttemptRecord({
  database,
  store = attemptStore,
  random = Math.random,
  ...needs
}: AttemptRecordNeeds) {
  // One statement can record a delivery only once. A second POST of the same delivery is recorded by the next batch.
  const successes = createCoalescer<DeliveredRecord, RecordedDelivery | undefined>({
    run: async (batch) => {
      const first = new Map(batch.map((one) => [one.report.deliveryId, one] as const).reverse());
      const sent = batch.filter((one) => first.get(one.report.deliveryId) === one);
      const numbers = await store.recordDelivered(database, sent);
      const results = new Map(sent.map((one, index) => [one, numbers[index]]));
      return batch.map((one) => results.get(one));
    },
    limits: { rows: MOST_RECORDED },
    sizeOf: ({ report }) => ({ rows: 1, bytes: 500 + (report.responseExcerpt?.length ?? 0) }),
  });
  return { ...needs, database, store, random, successes };
}

/**
 * Records a POST and its consequences for the endpoint and the delivery in one transaction. A 2xx of an endpoint
 * without failures is recorded by one statement.
 * @returns the workflow's next step; for a POST that was recorded before, the step that the row now asks for
 */
async function record(
  needs: AttemptRecordTools,
  report: AttemptReport,
  options: RecordOptions,
): Promise<RecordResult> {
  const outcome = outcomeCode(report.outcome);
  const owner = options.owner ?? (await needs.store.load(needs.database, [report]))[0];
  if (owner === undefined) return { step: ended('canceled'), last: { n: report.n, outcome } };
  const workflow = options.workflow ? report.generation : null;
  const delivered = report.outcome.kind === 'delivered';
  const {
    step,
    n,
    parked = false,
  } = delivered
    ? await recordSuccess(needs, report, owner, workflow)
    : await needs.database.transaction({}, (unit) => recordFailure(needs, unit, report, owner, workflow));
  if (step.kind === 'ended') {
    const attempt = { report: { ...report, n }, acceptedAt: owner.createdAt };
    needs.metrics?.ended(step.status, delivered ? attempt : undefined);
    // Where another POST has taken the number, the workflow may wait for the attempt after that one.
    if ((parked || n > report.n) && (await needs.store.callWorkflow(needs.database, report.deliveryId)))
      needs.notifier.poke();
  }
  return { step, last: { n, outcome }, ...(delivered && workflow === null ? { removed: true } : {}) };
}

async function recordSuccess(
  needs: AttemptRecordTools,
  report: AttemptReport,
  owner: Owner,
  workflow: number | null,
): Promise<Recorded> {
  const { tenantId, subscriptionId } = owner;
  const delivered = { report, tenantId, subscriptionId, workflow };
  const recorded = owner.endpointFailing
    ? await needs.database.transaction({}, (unit) => recordRecovery(needs, unit, delivered))
    : await numbered(() => needs.successes.add(delivered));
  return { step: ended('delivered'), ...recorded };
}

/** Records a 2xx of a failing endpoint. Locks in the same order as a failure: attempt, endpoint, delivery. */
async function recordRecovery(
  { store, endpoints }: AttemptRecordTools,
  unit: Transaction,
  delivered: DeliveredRecord,
): Promise<RecordedDelivery> {
  await store.insertAttempt(unit, delivered.report, delivered);
  await endpoints.noteSuccess(unit, delivered.subscriptionId);
  return numbered(async () => (await store.recordDelivered(unit, [delivered]))[0]);
}

async function recordFailure(
  needs: AttemptRecordTools,
  unit: Transaction,
  made: AttemptReport,
  owner: Owner,
  workflow: number | null,
): Promise<Recorded> {
  const { n, fresh } = await needs.store.insertAttempt(unit, made, owner);
  const report = { ...made, n };
  // A deactivation changes the row of the subscription. Everything locks that row before the endpoint's.
  const lock = made.outcome.kind === 'gone' && !owner.test ? 'FOR NO KEY UPDATE' : 'FOR SHARE';
  // A failure at a former URL is not counted against the endpoint, because the subscription has a new URL now.
  const former = owner.url !== (await needs.store.readUrl(unit, owner.subscriptionId, lock));
  if (fresh && !former && mayBlame(owner, report)) await blameEndpoint(needs, unit, report, owner);
  const row = await needs.store.lock(unit, report.deliveryId);
  if (row === undefined) return { step: ended('canceled'), n };
  if (!fresh) return { step: stepOfRow(row, report.generation), n };
  if (row.generation !== report.generation || !isUnfinished(row.status)) {
    await needs.store.countAttempt(unit, report.deliveryId, n);
    return { step: stepOfRow(row, report.generation), n };
  }
  return { step: await settle(needs, unit, report, { row, workflow, former }), n };
}

async function blameEndpoint(
  { endpoints, subscriptions }: AttemptRecordTools,
  unit: Transaction,
  { deliveryId, n, startedAt, outcome, probe }: AttemptReport,
  { tenantId, subscriptionId, test }: Owner,
): Promise<void> {
  if (outcome.kind !== 'gone' || probe) {
    const hold = outcome.kind === 'retry' && outcome.hold;
    const holdMs = hold ? (outcome.retryAfterMs ?? 0) : null;
    const refused = outcome.kind === 'rejected';
    const limited = outcome.statusCode === 429;
    const error = outcomeCode(outcome);
    await endpoints.noteFailure(unit, {
      subscriptionId,
      deliveryId,
      startedAt,
      holdMs,
      limited,
      probe,
      refused,
      error,
      first: n === 1,
    });
  }
  if (outcome.kind === 'gone' && !test)
    await subscriptions.deactivateGone(unit, { tenantId, subscriptionId });
}

async function settle(
  needs: AttemptRecordTools,
  unit: Transaction,
  report: AttemptReport,
  { row, workflow, former }: { row: LockedDelivery; workflow: number | null; former: boolean },
): Promise<Step> {
  const asked = row.retryRequestedAt !== null && row.retryRequestedAt > new Date(report.startedAt);
  const next = nextStep({
    outcome: report.outcome,
    failedAttempts: row.failedAttempts,
    policy: readRetryPolicy(row.retryPolicy),
    retryRequested: asked || former,
    probe: report.probe,
    random: needs.random(),
  });
  if (next.kind === 'delivered') return ended('delivered');
  const failed = next.kind === 'failed';
  await needs.store.recordFailed(unit, {
    ...report,
    statusCode: report.outcome.statusCode,
    error: outcomeCode(report.outcome),
    status: failed ? 'failed' : 'retrying',
    failedAttempts: next.failedAttempts,
    delayMs: failed ? null : next.delayMs,
    needsWorkflow: !failed && workflow === null,
    workflow,
  });
  if (!failed) return { kind: 'wait', delayMs: next.delayMs };
  await announceFailure(needs, unit, report, row, next);
  return ended('failed');
}

async function announceFailure(
  { records }: AttemptRecordTools,
  unit: Transaction,
  report: AttemptReport,
  row: LockedDelivery,
  { reason }: Extract<NextStep, { kind: 'failed' }>,
): Promise<void> {
  // An event about the failure of a `webhook.` event could cause events without end. A test delivery emits no event.
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
}

/**
 * @returns whether a failure is counted against its endpoint. That of a first attempt is not while retries succeed:
 *   then its record also does not wait for the endpoint's row.
 */
function mayBlame({ endpointProven = false }: Owner, { n, outcome }: AttemptReport): boolean {
  return !endpointProven || n > 1 || outcome.kind !== 'retry' || outcome.statusCode === 429;
}

function stepOfRow(row: LockedDelivery, generation: number): Step {
  if (row.generation !== generation) return ended('superseded');
  return isUnfinished(row.status) ? { kind: 'wait', delayMs: row.dueInMs ?? 0 } : ended(row.status);
}
