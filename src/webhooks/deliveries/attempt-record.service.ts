// Records attempts and their consequences for the delivery and its endpoint. A repeated record changes nothing, and a
// 2xx wins over an earlier record of the same attempt.
// docs/decisions/0007-attempts.md

import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import { callWorkflow } from '../rows/outbox.store.ts';
import type { AttemptMetrics } from './attempt.metrics.ts';
import * as attemptStore from './attempt.store.ts';
import { type DeliveredRecord, numbered, type RecordedDelivery } from './attempt.store.ts';
import { type AttemptReport, ended, outcomeCode, type RecordResult } from './attempt.ts';
import { MOST_RECORDED, recordFirstOfEach, sizeOfMade } from './attempt-batch.ts';
import {
  type FailedAttemptNeeds,
  FailedAttempts,
  type Owner,
  type Recorded,
} from './failed-attempts.service.ts';

/**
 * `workflow` is true when a workflow made the attempt: its generation is then stored in the delivery's row. When a
 * relay made the attempt, the row notes instead that a workflow is needed, or the delivery joins the crowd of its
 * endpoint. A missing `owner` is read.
 */
export type RecordOptions = { readonly workflow: boolean; readonly owner?: Owner | undefined };

export type AttemptRecordNeeds = Pick<FailedAttemptNeeds, 'records' | 'subscriptions' | 'random' | 'few'> & {
  database: Pick<Database, 'query' | 'transaction'>;
  store?: typeof attemptStore | undefined;
  endpoints: Pick<EndpointService, 'noteFailures' | 'noteSuccess' | 'noteCrowd'>;
  /** Notifies the relays of a command for a workflow that waits although its delivery has ended. */
  notifier: { poke(): void };
  metrics?: Pick<AttemptMetrics, 'ended'> | undefined;
};

/** Records attempts. Source: Specification, "Delivery"; the schedule is the platform's retry policy. */
export class AttemptRecordService extends Service<AttemptRecordNeeds> {
  readonly #store = this.needs.store ?? attemptStore;
  readonly #successes = createCoalescer<DeliveredRecord, RecordedDelivery | undefined>({
    run: (batch) =>
      recordFirstOfEach(batch, (sent) => this.#store.recordDelivered(this.needs.database, sent)),
    limits: { rows: MOST_RECORDED },
    sizeOf: sizeOfMade,
  });
  readonly #failures = new FailedAttempts({ ...this.needs, store: this.#store });

  /**
   * Records a POST and its consequences for the endpoint and the delivery in one transaction. A 2xx of an endpoint
   * without failures is recorded by one statement.
   * @returns the workflow's next step; for a POST that was recorded before, the step that the row now asks for
   */
  record = async (report: AttemptReport, options: RecordOptions): Promise<RecordResult> => {
    const outcome = outcomeCode(report.outcome);
    const owner = options.owner ?? (await this.#store.load(this.needs.database, [report]))[0];
    if (owner === undefined) return { step: ended('canceled'), last: { n: report.n, outcome } };
    const workflow = options.workflow ? report.generation : null;
    const delivered = report.outcome.kind === 'delivered';
    const {
      step,
      n,
      parked = false,
      crowded = false,
    } = delivered
      ? await this.#recordSuccess(report, owner, workflow)
      : await this.#failures.record({ report, owner, workflow });
    if (step.kind === 'ended') {
      const attempt = { report: { ...report, n }, acceptedAt: owner.createdAt };
      this.needs.metrics?.ended(step.status, delivered ? attempt : undefined);
      // Where another POST has taken the number, the workflow may wait for the attempt after that one.
      if ((parked || n > report.n) && (await callWorkflow(this.needs.database, report.deliveryId)))
        this.needs.notifier.poke();
    }
    const removed = crowded || (delivered && workflow === null);
    return { step, last: { n, outcome }, ...(crowded ? { crowded } : {}), ...(removed ? { removed } : {}) };
  };

  #recordSuccess = async (
    report: AttemptReport,
    owner: Owner,
    workflow: number | null,
  ): Promise<Recorded> => {
    const { tenantId, subscriptionId } = owner;
    const delivered = { report, tenantId, subscriptionId, workflow };
    const recorded = owner.endpointFailing
      ? await this.needs.database.transaction({}, (unit) => this.#recordRecovery(unit, delivered))
      : await numbered(() => this.#successes.add(delivered));
    return { step: ended('delivered'), ...recorded };
  };

  /** Records a 2xx of a failing endpoint. Locks in the same order as a failure: attempt, endpoint, delivery. */
  #recordRecovery = async (unit: Transaction, delivered: DeliveredRecord): Promise<RecordedDelivery> => {
    await numbered(async () => (await this.#store.insertAttempts(unit, [delivered]))[0]);
    await this.needs.endpoints.noteSuccess(unit, delivered.subscriptionId);
    return numbered(async () => (await this.#store.recordDelivered(unit, [delivered]))[0]);
  };
}
