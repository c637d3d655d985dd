// Records failed attempts, and what they mean for their endpoint and their deliveries. Those of one endpoint that
// arrive together share a transaction, in which the endpoint is judged once.

import { serviceContext } from '../../audit/audit.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { EndpointFailure } from '../endpoints/endpoint-judgement.ts';
import type { EndpointName } from '../endpoints/endpoint-state.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { FailureRecord } from '../rows/delivery-row.store.ts';
import * as deliveryRows from '../rows/delivery-row.store.ts';
import { readRetryPolicy } from '../subscriptions/retry-schedule.ts';
import type * as attemptStore from './attempt.store.ts';
import { type LoadedDelivery, type LockedDelivery, numbered } from './attempt.store.ts';
import { type AttemptReport, ended, outcomeCode, type Step } from './attempt.ts';
import { MOST_RECORDED, recordFirstOfEach, sizeOfMade } from './attempt-batch.ts';
import { type CrowdNeeds, Crowds, type Failed } from './crowd.service.ts';
import { isUnfinished } from './delivery.ts';
import { type FailureReason, nextStep } from './next-step.ts';

export type SubscriptionDeactivation = {
  deactivateGone(unit: Transaction, subscription: EndpointName): Promise<unknown>;
};

/** What the record of an attempt needs of its delivery as it was read for the attempt. */
export type Owner = Pick<
  LoadedDelivery,
  'tenantId' | 'subscriptionId' | 'test' | 'endpointFailing' | 'endpointProven' | 'url' | 'createdAt'
>;

/** A POST that failed. `workflow` is the generation of the workflow that made it; null for a relay. */
export type FailedAttempt = {
  readonly report: AttemptReport;
  readonly owner: Owner;
  readonly workflow: number | null;
};

/**
 * The next step of the delivery, and the number under which its attempt is recorded. `crowded`: it waits in the crowd
 * of its endpoint.
 */
export type Recorded = {
  readonly step: Step;
  readonly n: number;
  readonly parked?: boolean;
  readonly crowded?: boolean;
};

export type FailedAttemptNeeds = CrowdNeeds & {
  database: Pick<Database, 'transaction'>;
  store: Pick<typeof attemptStore, 'insertAttempts' | 'readUrl' | 'shareEndpoint' | 'lock'>;
  records: Pick<RecordService, 'write'>;
  endpoints: Pick<EndpointService, 'noteFailures'>;
  subscriptions: SubscriptionDeactivation;
  random?: (() => number) | undefined;
};

/** A failed attempt with the number of its row; `fresh` unless it was recorded before. */
type Numbered = FailedAttempt & { readonly fresh: boolean; readonly former: boolean };

/** What follows from a failure: the change of the delivery's row, and why the delivery has failed for good. */
type Settled = Failed & {
  readonly report: AttemptReport;
  readonly step: Step;
  readonly reason?: FailureReason | undefined;
};

export class FailedAttempts extends Service<FailedAttemptNeeds> {
  readonly #random = this.needs.random ?? Math.random;
  readonly #crowds = new Crowds(this.needs);
  readonly #endpoints = new Map<
    string,
    { readonly failures: { add(failure: FailedAttempt): Promise<Recorded | undefined> }; waiting: number }
  >();

  /** Records a failure; one that was recorded before changes nothing. @returns the step that the row now asks for */
  record = (failure: FailedAttempt): Promise<Recorded> => numbered(() => this.#add(failure));

  // One batch at a time, because all of them lock the row of their endpoint.
  #ofEndpoint = () =>
    createCoalescer<FailedAttempt, Recorded | undefined>({
      run: (batch) =>
        recordFirstOfEach(batch, (sent) =>
          this.needs.database.transaction({}, (unit) => this.#recordBatch(unit, sent)),
        ),
      limits: { rows: MOST_RECORDED, batches: 1 },
      sizeOf: sizeOfMade,
    });

  #add = async (failure: FailedAttempt): Promise<Recorded | undefined> => {
    const { subscriptionId } = failure.owner;
    const endpoint = this.#endpoints.get(subscriptionId) ?? { failures: this.#ofEndpoint(), waiting: 0 };
    this.#endpoints.set(subscriptionId, endpoint);
    endpoint.waiting += 1;
    try {
      return await endpoint.failures.add(failure);
    } finally {
      endpoint.waiting -= 1;
      if (endpoint.waiting === 0) this.#endpoints.delete(subscriptionId);
    }
  };

  /**
   * Records failures of different deliveries of one endpoint. Locks in the order of all attempts: attempt,
   * subscription, endpoint, delivery.
   * @returns the results in the same order; undefined where another POST took the number concurrently: the caller
   *   repeats those
   */
  #recordBatch = async (
    unit: Transaction,
    sent: readonly FailedAttempt[],
  ): Promise<(Recorded | undefined)[]> => {
    const numbers = await this.needs.store.insertAttempts(
      unit,
      sent.map(({ report, owner: { tenantId, subscriptionId } }) => ({ report, tenantId, subscriptionId })),
    );
    const url = await this.#lockSubscription(unit, sent);
    const made = sent.flatMap((one, index): Numbered[] => {
      const number = numbers[index];
      if (number === undefined) return [];
      const report = { ...one.report, n: number.n };
      // A failure at a former URL is not counted against the endpoint, because the subscription has a new URL now.
      return [{ ...one, report, fresh: number.fresh, former: one.owner.url !== url }];
    });
    if (made.length === 0) return sent.map(() => undefined);
    await this.#blameEndpoint(unit, made);
    const results = await this.#settleAll(unit, made);
    return sent.map(({ report }) => results.get(report.deliveryId));
  };

  /** Everything locks the row of the subscription before the endpoint's. A deactivation changes it. @returns its URL */
  #lockSubscription = (
    unit: Transaction,
    failures: readonly FailedAttempt[],
  ): Promise<string | undefined> => {
    const deactivates = failures.some(({ report, owner }) => report.outcome.kind === 'gone' && !owner.test);
    return this.needs.store.readUrl(
      unit,
      subscriptionOf(failures),
      deactivates ? 'FOR NO KEY UPDATE' : 'FOR SHARE',
    );
  };

  #blameEndpoint = async (unit: Transaction, made: readonly Numbered[]): Promise<void> => {
    const blamed = made.filter(
      ({ fresh, former, owner, report }) => fresh && !former && mayBlame(owner, report),
    );
    const failures = blamed
      .filter(({ report }) => report.outcome.kind !== 'gone' || report.probe)
      .map(({ report }) => failureOf(report));
    if (failures.length > 0) await this.needs.endpoints.noteFailures(unit, subscriptionOf(blamed), failures);
    const gone = blamed.find(({ report, owner }) => report.outcome.kind === 'gone' && !owner.test);
    if (gone !== undefined) await this.needs.subscriptions.deactivateGone(unit, gone.owner);
  };

  /** Changes the rows of the deliveries. @returns delivery → its step */
  #settleAll = async (
    unit: Transaction,
    made: readonly Numbered[],
  ): Promise<ReadonlyMap<string, Recorded>> => {
    // A delivery joins a crowd under the lock of its endpoint, which comes before its own.
    if (made.some(mayJoin)) await this.needs.store.shareEndpoint(unit, subscriptionOf(made));
    const rows = await this.needs.store.lock(
      unit,
      made.map(({ report }) => report.deliveryId),
    );
    const results = new Map<string, Recorded>();
    const settled: Settled[] = [];
    for (const one of made) {
      const { report, fresh, workflow } = one;
      const row = rows.get(report.deliveryId);
      const counts = row?.generation === report.generation && isUnfinished(row.status);
      if (row !== undefined && fresh && counts) settled.push(this.#settle(one, row));
      else {
        if (row !== undefined && fresh) await deliveryRows.countAttempt(unit, report.deliveryId, report.n);
        const step = row === undefined ? ended('canceled') : stepOfRow(row, report.generation);
        const crowded = workflow === null && step.kind === 'wait' && row?.ownWorkflow === false;
        results.set(report.deliveryId, { step, n: report.n, crowded });
      }
    }
    const crowd = await this.#crowds.choose(unit, settled);
    const joins = new Set<unknown>(crowd.members);
    const changes = settled.map((one) =>
      joins.has(one) ? { ...one.change, needsWorkflow: false } : one.change,
    );
    await deliveryRows.recordFailed(unit, changes);
    await this.#crowds.join(unit, crowd);
    for (const { report, row, reason } of settled)
      if (reason !== undefined) await this.#announceFailure(unit, report, row, reason);
    for (const one of settled) {
      const { step, report } = one;
      results.set(report.deliveryId, { step, n: report.n, crowded: joins.has(one) });
    }
    return results;
  };

  #settle = ({ report, workflow, former }: Numbered, row: LockedDelivery): Settled => {
    const asked = row.retryRequestedAt !== null && row.retryRequestedAt > new Date(report.startedAt);
    const next = nextStep({
      outcome: report.outcome,
      failedAttempts: row.failedAttempts,
      policy: readRetryPolicy(row.retryPolicy),
      retryRequested: asked || former,
      probe: report.probe,
      random: this.#random(),
    });
    if (next.kind === 'delivered') throw new Error('a failed attempt has delivered');
    const failed = next.kind === 'failed';
    const change: FailureRecord = {
      deliveryId: report.deliveryId,
      n: report.n,
      startedAt: report.startedAt,
      statusCode: report.outcome.statusCode,
      error: outcomeCode(report.outcome),
      status: failed ? 'failed' : 'retrying',
      failedAttempts: next.failedAttempts,
      delayMs: failed ? null : next.delayMs,
      needsWorkflow: !failed && workflow === null,
      workflow,
    };
    return failed
      ? { report, row, step: ended('failed'), change, reason: next.reason }
      : { report, row, step: { kind: 'wait', delayMs: next.delayMs }, change };
  };

  #announceFailure = async (
    unit: Transaction,
    report: AttemptReport,
    row: LockedDelivery,
    reason: FailureReason,
  ): Promise<void> => {
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
    await this.needs.records.write(unit, context, {
      audit: [{ action: type, outcome: 'failure', target: { type: 'delivery', id }, data: facts }],
      events: [{ type, data, exceptSubscription: row.subscriptionId }],
    });
  };
}

function mayJoin({ report, workflow }: Numbered): boolean {
  return workflow === null && report.outcome.kind === 'retry';
}

/**
 * @returns whether a failure is counted against its endpoint. That of a first attempt is not while retries succeed:
 *   then its record also does not wait for the endpoint's row.
 */
function mayBlame({ endpointProven = false }: Owner, { n, outcome }: AttemptReport): boolean {
  return !endpointProven || n > 1 || outcome.kind !== 'retry' || outcome.statusCode === 429;
}

function failureOf({ deliveryId, n, startedAt, outcome, probe }: AttemptReport): EndpointFailure {
  const hold = outcome.kind === 'retry' && outcome.hold;
  return {
    deliveryId,
    startedAt,
    holdMs: hold ? (outcome.retryAfterMs ?? 0) : null,
    limited: outcome.statusCode === 429,
    probe,
    refused: outcome.kind === 'rejected',
    error: outcomeCode(outcome),
    first: n === 1,
    answered: outcome.statusCode !== null,
  };
}

function stepOfRow(row: LockedDelivery, generation: number): Step {
  if (row.generation !== generation) return ended('superseded');
  return isUnfinished(row.status) ? { kind: 'wait', delayMs: row.dueInMs ?? 0 } : ended(row.status);
}

function subscriptionOf(failures: readonly FailedAttempt[]): string {
  const [first] = failures;
  if (first === undefined) throw new Error('no failure to record');
  return first.owner.subscriptionId;
}
