// Starts and signals the workflows of deliveries. Temporal gets only ids, hosts, event types and codes.

import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { TypedSearchAttributes, WorkflowNotFoundError } from '@temporalio/common';
import { Service } from '../../platform/service.ts';
import { createIndexing } from '../../platform/temporal/indexing.ts';
import {
  ATTEMPT_PRIORITY,
  DELIVERY_SIGNALS,
  DELIVERY_WORKFLOW,
  deliveryWorkflowId,
  SEARCH_ATTRIBUTES,
  type TaskQueues,
} from '../../platform/temporal/names.ts';
import {
  detailsOfStart,
  namesOf,
  type Presenter,
  type TenantNames,
} from '../../platform/temporal/static-details.ts';
import type { DeliveryInput } from '../deliveries/delivery-input.ts';

const CALL_TIMEOUT = 10_000;

/**
 * The longest wait, in milliseconds, before which a workflow has no task yet: it halves what a retry costs Temporal,
 * and signals of that time are handled after it.
 */
const LONGEST_DELAY = 10_000;

export type StartRequest = Omit<DeliveryInput, 'attemptsQueue' | 'slowQueue' | 'indexed' | 'woken'>;

/** `exists`: the workflow was started before. */
export type StartOutcome = 'started' | 'exists';

export type DeliveryStarterNeeds = {
  /** On the worker's native connection, because only that connection can start eagerly. */
  client: Pick<Client, 'workflow' | 'withDeadline'>;
  taskQueues: TaskQueues;
  /**
   * False for versioned workers, because an eager task would run in this process even when another version is
   * current.
   */
  eager?: boolean | undefined;
  /** Names the tenant and the pages to operators; absent: neither is shown. */
  presenter?: Presenter | undefined;
};

export class DeliveryStarter extends Service<DeliveryStarterNeeds> {
  readonly #eager = this.needs.eager ?? true;
  readonly #indexing = createIndexing();

  /**
   * Starts the workflow of a delivery. When a workflow with the same id runs or has ended, nothing is started.
   * Without search attributes in the namespace the workflow is started without them.
   * @throws when Temporal does not answer; the workflow may have been started, and the call may be repeated
   */
  start = async (request: StartRequest): Promise<StartOutcome> => {
    const tenant = await namesOf(this.needs.presenter, request.tenantId);
    return this.#indexing.attempt((indexed) => this.#start(request, tenant, indexed));
  };

  /**
   * Signals the workflow of a delivery, which then reads its row again.
   * @param epoch the endpoint's epoch, for `wake`
   * @returns false when no such workflow runs
   * @throws when Temporal does not answer; the call may be repeated
   */
  signal = async (
    { deliveryId, generation }: { deliveryId: string; generation: number },
    signal: keyof typeof DELIVERY_SIGNALS,
    epoch?: number,
  ): Promise<boolean> => {
    const handle = this.needs.client.workflow.getHandle(deliveryWorkflowId(deliveryId, generation));
    try {
      await this.needs.client.withDeadline(Date.now() + CALL_TIMEOUT, () =>
        handle.signal(DELIVERY_SIGNALS[signal], ...(epoch === undefined ? [] : [epoch])),
      );
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  };

  /**
   * Reads the state of the delivery's workflow: `busy` with a task or an activity, `waiting` for a time or a signal,
   * or `gone` when it has ended or Temporal does not know it.
   */
  stateOf = async ({
    deliveryId,
    generation,
  }: {
    deliveryId: string;
    generation: number;
  }): Promise<'busy' | 'waiting' | 'gone'> => {
    const handle = this.needs.client.workflow.getHandle(deliveryWorkflowId(deliveryId, generation));
    try {
      const { status, raw } = await this.needs.client.withDeadline(Date.now() + CALL_TIMEOUT, () =>
        handle.describe(),
      );
      if (status.name !== 'RUNNING') return 'gone';
      const activities = raw.pendingActivities ?? [];
      return activities.length > 0 || raw.pendingWorkflowTask ? 'busy' : 'waiting';
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'gone';
      throw error;
    }
  };

  /** @returns whether workflows currently start with their search attributes */
  isIndexed = this.#indexing.isOn;

  #start = async (
    request: StartRequest,
    tenant: TenantNames | undefined,
    indexed: boolean,
  ): Promise<StartOutcome> => {
    const { deliveryId, generation, tenantId, eventType, host } = request;
    const delay = startDelayOf(request);
    const input: DeliveryInput = {
      ...request,
      ...(delay > 0 ? { waiting: undefined } : {}),
      indexed,
      attemptsQueue: this.needs.taskQueues.attempts,
      slowQueue: this.needs.taskQueues.slow,
    };
    const path = `/api/v1/deliveries/${deliveryId}`;
    const staticDetails = detailsOfStart(this.needs.presenter, { workflow: DELIVERY_WORKFLOW, tenant, path });
    try {
      await this.needs.client.withDeadline(Date.now() + CALL_TIMEOUT, () =>
        this.needs.client.workflow.start(DELIVERY_WORKFLOW, {
          workflowId: deliveryWorkflowId(deliveryId, generation),
          taskQueue: this.needs.taskQueues.main,
          args: [input],
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          requestEagerStart: this.#eager && delay === 0,
          ...(delay > 0 ? { startDelay: delay } : {}),
          staticSummary: `${host} · ${eventType}`,
          ...(staticDetails === undefined ? {} : { staticDetails }),
          priority: {
            priorityKey: generation > 0 ? ATTEMPT_PRIORITY.replay : ATTEMPT_PRIORITY.first,
            fairnessKey: tenantId,
          },
          ...(indexed ? { typedSearchAttributes: attributesOf(request, tenant) } : {}),
        }),
      );
      return 'started';
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return 'exists';
      throw error;
    }
  };
}

/** @returns the wait with which the workflow begins when it is short; 0 when the workflow itself waits */
function startDelayOf({ waiting }: StartRequest): number {
  return waiting?.kind === 'wait' && waiting.delayMs <= LONGEST_DELAY ? Math.ceil(waiting.delayMs) : 0;
}

function attributesOf(
  { tenantId, subscriptionId, eventType, host, last }: StartRequest,
  tenant: TenantNames | undefined,
) {
  const tried =
    last === undefined
      ? []
      : [
          { key: SEARCH_ATTRIBUTES.lastOutcome, value: last.outcome },
          { key: SEARCH_ATTRIBUTES.attemptCount, value: last.n },
        ];
  return new TypedSearchAttributes([
    { key: SEARCH_ATTRIBUTES.tenantId, value: tenantId },
    ...(tenant === undefined ? [] : [{ key: SEARCH_ATTRIBUTES.tenantSlug, value: tenant.slug }]),
    { key: SEARCH_ATTRIBUTES.subscriptionId, value: subscriptionId },
    { key: SEARCH_ATTRIBUTES.eventType, value: eventType },
    { key: SEARCH_ATTRIBUTES.endpointHost, value: host },
    ...tried,
  ]);
}
