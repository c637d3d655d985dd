// The types of a delivery as people and routes read it. Pure.
// docs/decisions/0001-held-is-derived.md

import type { JsonObject } from '../../events/event.ts';
import { deliveryWorkflowId, entityWorkflowId, workflowUrl } from '../../platform/temporal/names.ts';
import type { DeliveryRow } from '../rows/delivery.model.ts';
import type { AttemptRow } from './attempt.model.ts';

/**
 * The shown statuses. `held` is a delivery without an attempt whose endpoint is closed. `canceled` includes unfinished
 * deliveries of deleted subscriptions.
 */
export const DELIVERY_STATUSES = ['pending', 'retrying', 'held', 'delivered', 'failed', 'canceled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export type StoredStatus = Exclude<DeliveryStatus, 'held'>;

export type UnfinishedStatus = 'pending' | 'retrying';

export function isUnfinished(status: StoredStatus): status is UnfinishedStatus {
  return status === 'pending' || status === 'retrying';
}

/**
 * A delivery's row with its shown status. `startedGeneration` is null when no workflow was started; `needsWorkflow`:
 * one is about to be. `endpointWatched`: the workflow of its endpoint runs.
 */
export type DeliveryRecord = Pick<
  DeliveryRow,
  | 'id'
  | 'subscriptionId'
  | 'eventId'
  | 'eventType'
  | 'attemptCount'
  | 'nextAttemptAt'
  | 'lastStatusCode'
  | 'lastError'
  | 'createdAt'
  | 'completedAt'
  | 'generation'
  | 'startedGeneration'
  | 'needsWorkflow'
> & { readonly status: DeliveryStatus; readonly endpointWatched: boolean };

/** One POST of a delivery. `phases` are milliseconds by name. */
export type AttemptRecord = Pick<
  AttemptRow,
  'startedAt' | 'durationMs' | 'phases' | 'statusCode' | 'error' | 'retryAfterSeconds' | 'responseExcerpt'
> & { readonly number: number };

export type DeliveryDetails = DeliveryRecord & {
  /** The body that each attempt sends; null when the event is no longer kept. */
  readonly payload: JsonObject | null;
  readonly attempts: readonly AttemptRecord[];
};

/** Selects the deliveries of a list. `since` is inclusive, `until` exclusive. */
export type DeliveryFilters = {
  readonly status?: DeliveryStatus | undefined;
  readonly eventType?: string | undefined;
  readonly eventId?: string | undefined;
  readonly subscriptionId?: string | undefined;
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
};

export type WorkflowPlace = { readonly uiUrl: string; readonly namespace: string };

/**
 * Why a delivery has no workflow: its first attempt settled it, or a retry that the workflow of its endpoint kept; or
 * its first attempt has not been recorded; or there is nothing to wait for; or a relay is about to start it.
 */
export const NO_WORKFLOW = [
  'settled_at_first_attempt',
  'settled_at_early_retry',
  'not_tried',
  'ended_untried',
  'not_started',
] as const;

/**
 * @returns id and address of the workflow that owns the delivery's wait: its own, or that of its endpoint while it has
 *   none (docs/rows.md has the ways); of an ended delivery its newest one. Without one both are null, and `reason`
 *   says why
 */
export function workflowOf(
  record: Pick<
    DeliveryRecord,
    | 'id'
    | 'subscriptionId'
    | 'generation'
    | 'startedGeneration'
    | 'needsWorkflow'
    | 'attemptCount'
    | 'completedAt'
    | 'endpointWatched'
  >,
  place: WorkflowPlace,
): { id: string | null; url: string | null; reason: (typeof NO_WORKFLOW)[number] | null } {
  const { id, generation, startedGeneration, needsWorkflow, attemptCount, completedAt } = record;
  const hasEnded = completedAt !== null;
  const isCrowded = startedGeneration === null && !needsWorkflow && attemptCount > 0;
  if (startedGeneration !== null && (hasEnded || startedGeneration === generation))
    return linkTo(deliveryWorkflowId(id, startedGeneration), place);
  if (!hasEnded && (isCrowded || record.endpointWatched))
    return linkTo(entityWorkflowId('endpointRecovery', record.subscriptionId), place);
  const untried = hasEnded ? 'ended_untried' : 'not_tried';
  const settled = attemptCount === 1 ? 'settled_at_first_attempt' : 'settled_at_early_retry';
  const tried = hasEnded ? settled : 'not_started';
  return { id: null, url: null, reason: attemptCount > 0 ? tried : untried };
}

const linkTo = (id: string, place: WorkflowPlace) => ({ id, url: workflowUrl(place, id), reason: null });
