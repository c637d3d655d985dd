// The permanent names in Temporal: workflow ids, task queues, search attributes. Names are never encrypted, so they
// contain no personal data and no secret. Pure, also inside workflows.
import type { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

/** As the SDK's function of this name, which loads all of the SDK. */
const key = <Type extends SearchAttributeType>(
  name: string,
  type: Type,
): ReturnType<typeof defineSearchAttributeKey<Type>> => ({ name, type });

/** Search attributes. The namespace must have them before a workflow starts with them. */
export const SEARCH_ATTRIBUTES = {
  tenantId: key('TenantId', 'KEYWORD'),
  tenantSlug: key('TenantSlug', 'KEYWORD'),
  subscriptionId: key('SubscriptionId', 'KEYWORD'),
  eventType: key('EventType', 'KEYWORD'),
  deliveryStatus: key('DeliveryStatus', 'KEYWORD'),
  endpointHost: key('EndpointHost', 'KEYWORD'),
  lastOutcome: key('LastOutcome', 'KEYWORD'),
  attemptCount: key('AttemptCount', 'INT'),
  agentId: key('AgentId', 'KEYWORD'),
  entityState: key('EntityState', 'KEYWORD'),
} as const;

/**
 * `main`: workflows and quick activities. `attempts`: attempts. `slow`: attempts for receivers that were slow before.
 * Each queue has separate slots, so that slow receivers do not delay the others.
 */
export type TaskQueues = { readonly main: string; readonly attempts: string; readonly slow: string };

export const TASK_QUEUES: TaskQueues = { main: 'countersign', attempts: 'attempts', slow: 'attempts-slow' };

export const WORKER_DEPLOYMENT = 'countersign';

/**
 * Id of a delivery's workflow: `delivery/<id>`, for a replay `delivery/<id>/<generation>`. One id runs at most once.
 * @param generation 0 for the first, one more for each replay
 */
export function deliveryWorkflowId(deliveryId: string, generation: number): string {
  return generation === 0 ? `delivery/${deliveryId}` : `delivery/${deliveryId}/${generation}`;
}

/** @returns the delivery and generation of a workflow id; undefined for an id of another kind */
export function parseDeliveryWorkflowId(workflowId: string): { id: string; generation: number } | undefined {
  const [, id, generation = '0'] = /^delivery\/([0-9a-f-]{36})(?:\/(\d{1,9}))?$/.exec(workflowId) ?? [];
  return id === undefined ? undefined : { id, generation: Number(generation) };
}

/**
 * Address of a workflow in Temporal's Web UI.
 * @param place.uiUrl origin of the UI, without a slash at its end
 */
export function workflowUrl(
  { uiUrl, namespace }: { uiUrl: string; namespace: string },
  workflowId: string,
): string {
  return `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(workflowId)}`;
}

/**
 * Signals of `webhookDelivery`. Each makes the workflow read the row of its delivery; `wake` also carries the epoch of
 * the endpoint.
 */
export const DELIVERY_SIGNALS = { retryNow: 'retryNow', cancel: 'cancel', wake: 'wake' } as const;

export const DELIVERY_WORKFLOW = 'webhookDelivery';

/** In a backlogged queue the lower number runs first: first attempts, then retries, then replays. */
export const ATTEMPT_PRIORITY = { first: 2, retry: 3, replay: 4 } as const;

/**
 * The types of entity workflows, each with the prefix of its workflow ids. Each takes `EntityInput`, handles the signal
 * `changed`, and reads the due step in Postgres.
 */
const ENTITY_WORKFLOWS = {
  agentKeyRotation: 'key-rotation/',
  endpointRecovery: 'endpoint/',
  bulkReplay: 'replay/',
  webhookSecretRotation: 'secret-rotation/',
  delegationExpiry: 'delegation/',
  anchorVerification: 'anchor/',
  issuerKeyRotation: 'issuer-keys/',
  accessReceipt: 'receipt/',
  tenantErasure: 'erasure/',
} as const;

export type EntityWorkflow = keyof typeof ENTITY_WORKFLOWS;

export const ENTITY_WORKFLOW_TYPES = Object.keys(ENTITY_WORKFLOWS) as readonly EntityWorkflow[];

/**
 * The input of an entity workflow. `indexed`: the server accepts the search attributes. `slowQueue`: task queue of the activities that wait
 * for other parties, if there are any. `summary`: the static summary, which Temporal does not copy when a workflow
 * continues as new.
 */
export type EntityInput = {
  readonly tenantId: string;
  readonly id: string;
  readonly indexed: boolean;
  readonly summary?: string | undefined;
  readonly slowQueue?: string | undefined;
};

/** The signal that the entity has changed. It carries no details, so it may arrive twice or late. */
export const ENTITY_CHANGED = 'changed';

/** Id of the workflow of an entity: `key-rotation/<old_key_id>`. */
export function entityWorkflowId(workflow: EntityWorkflow, entityId: string): string {
  return `${ENTITY_WORKFLOWS[workflow]}${entityId}`;
}

/** Id of the schedule of retention. Its runs are the workflows `retention-<time>`. */
export const RETENTION_SCHEDULE = 'retention';

export const RETENTION_WORKFLOW = 'retention';

export const CHALLENGE_EXPIRY_WORKFLOW = 'challengeExpiry';

export const WORKFLOW_TYPES: readonly string[] = [
  ...ENTITY_WORKFLOW_TYPES,
  DELIVERY_WORKFLOW,
  RETENTION_WORKFLOW,
  CHALLENGE_EXPIRY_WORKFLOW,
];

/**
 * Id of the workflow that expires the challenges of one period, named by the end of the period:
 * `challenge-expiry/2026-11-21T18:15Z`.
 */
export function challengeExpiryWorkflowId(bucket: string): string {
  return `challenge-expiry/${bucket}`;
}
