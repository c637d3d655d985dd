// The names that Temporal keeps for ever: workflow ids, task queues, search attributes. Pure, also inside workflows.
// Names are never encrypted, so they contain no personal data and no secret.
import { defineSearchAttributeKey } from '@temporalio/common';

/** Search attributes of the namespace; each is registered there before anything starts with it. */
export const SEARCH_ATTRIBUTES = {
  tenantId: defineSearchAttributeKey('TenantId', 'KEYWORD'),
  subscriptionId: defineSearchAttributeKey('SubscriptionId', 'KEYWORD'),
  eventType: defineSearchAttributeKey('EventType', 'KEYWORD'),
  deliveryStatus: defineSearchAttributeKey('DeliveryStatus', 'KEYWORD'),
  endpointHost: defineSearchAttributeKey('EndpointHost', 'KEYWORD'),
  lastOutcome: defineSearchAttributeKey('LastOutcome', 'KEYWORD'),
  attemptCount: defineSearchAttributeKey('AttemptCount', 'INT'),
  agentId: defineSearchAttributeKey('AgentId', 'KEYWORD'),
  entityState: defineSearchAttributeKey('EntityState', 'KEYWORD'),
} as const;

/**
 * `main` serves workflows and quick activities, `attempts` attempts, `slow` the attempts for receivers that were slow
 * before. Each queue has its own slots, so that a receiver which times out does not delay the others.
 */
export type TaskQueues = { readonly main: string; readonly attempts: string; readonly slow: string };

export const TASK_QUEUES: TaskQueues = { main: 'countersign', attempts: 'attempts', slow: 'attempts-slow' };

/** Name of the deployment that all versions of the workers belong to. */
export const WORKER_DEPLOYMENT = 'countersign';

/**
 * Id of a delivery's workflow: `delivery/<id>`, for a replay `delivery/<id>/<generation>`. One id runs at most once.
 * @param generation 0 for the first, one more for each replay
 */
export function deliveryWorkflowId(deliveryId: string, generation: number): string {
  return generation === 0 ? `delivery/${deliveryId}` : `delivery/${deliveryId}/${generation}`;
}

/** The delivery and generation of a workflow's id; undefined for an id of another kind. */
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
 * Signals of `webhookDelivery`. Each only causes the workflow to read the delivery's row again, except that `wake`
 * carries the endpoint's epoch.
 */
export const DELIVERY_SIGNALS = { retryNow: 'retryNow', cancel: 'cancel', wake: 'wake' } as const;

/** Name of the workflow type: the export of `workflows/index.ts`. */
export const DELIVERY_WORKFLOW = 'webhookDelivery';

/** The lower number goes first where a queue is backlogged: first attempts, then retries, then replays. */
export const ATTEMPT_PRIORITY = { first: 2, retry: 3, replay: 4 } as const;

/**
 * Entity workflows by their type, with the prefix of their workflow ids. Each takes `EntityInput`, handles the signal
 * `changed`, and reads in Postgres which step is due.
 */
const ENTITY_WORKFLOWS = {
  agentKeyRotation: 'key-rotation/',
  endpointRecovery: 'endpoint/',
  bulkRecovery: 'recover/',
  webhookSecretRotation: 'secret-rotation/',
  delegationExpiry: 'delegation/',
  anchorVerification: 'anchor/',
  issuerKeyRotation: 'issuer-keys/',
} as const;

export type EntityWorkflow = keyof typeof ENTITY_WORKFLOWS;

/** Every type of entity workflow. */
export const ENTITY_WORKFLOW_TYPES = Object.keys(ENTITY_WORKFLOWS) as readonly EntityWorkflow[];

/**
 * The input of an entity workflow. `indexed`: whether the server takes the search attributes. `slowQueue`: the task
 * queue of its activities that wait for other parties, if it has any. `summary`: the static summary, which Temporal
 * does not copy when a workflow continues as new.
 */
export type EntityInput = {
  readonly tenantId: string;
  readonly id: string;
  readonly indexed: boolean;
  readonly summary?: string | undefined;
  readonly slowQueue?: string | undefined;
};

/** The signal of entity workflows: the entity has changed. It carries no details, so it may come twice or late. */
export const ENTITY_CHANGED = 'changed';

/** Id of the workflow of one entity: `key-rotation/<old_key_id>`. */
export function entityWorkflowId(workflow: EntityWorkflow, entityId: string): string {
  return `${ENTITY_WORKFLOWS[workflow]}${entityId}`;
}

/** Id of the schedule of retention; its runs are the workflows `retention-<time>`. */
export const RETENTION_SCHEDULE = 'retention';

/** Name of the workflow type: the export of `workflows/index.ts`. */
export const RETENTION_WORKFLOW = 'retention';

/** Name of the workflow type: the export of `workflows/index.ts`. */
export const CHALLENGE_EXPIRY_WORKFLOW = 'challengeExpiry';

/** Every type of workflow. */
export const WORKFLOW_TYPES: readonly string[] = [
  ...ENTITY_WORKFLOW_TYPES,
  DELIVERY_WORKFLOW,
  RETENTION_WORKFLOW,
  CHALLENGE_EXPIRY_WORKFLOW,
];

/**
 * Id of the workflow that expires challenges at the end of one bucket of time: `challenge-expiry/2026-11-21T18:15Z`.
 */
export function challengeExpiryWorkflowId(bucket: string): string {
  return `challenge-expiry/${bucket}`;
}
