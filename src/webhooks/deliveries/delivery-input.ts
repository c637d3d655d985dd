// The input, result and state of a delivery's workflow: ids, hosts, event types and codes only.
import type { FinalStatus, LastAttempt, Step } from './attempt.ts';

/** The input of `webhookDelivery`; the fields below the line are carried over when it continues as new. */
export type DeliveryInput = {
  readonly deliveryId: string;
  readonly generation: number;
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly eventType: string;
  /** Host of the receiver: a URL's path may carry a secret. */
  readonly host: string;
  /** Number of the next attempt. */
  readonly n: number;
  /** The first attempt runs inside the workflow task: only for endpoints that are known to be fast. */
  readonly local: boolean;
  /** Task queue of all other attempts, and of those to a receiver that took long the last time. */
  readonly attemptsQueue: string;
  readonly slowQueue: string;
  /** False where the namespace does not have the search attributes. */
  readonly indexed: boolean;
  /** The endpoint's epoch at which the relay let the next attempt begin. */
  readonly grant?: number | undefined;
  /** The `traceparent` of its attempts, where it is traced. */
  readonly trace?: string | undefined;
  // ----
  /** The receiver is known to be slow. */
  readonly slow?: boolean | undefined;
  readonly waiting?: Step | undefined;
  readonly woken?: number | undefined;
  readonly last?: LastAttempt | undefined;
};

export type DeliveryResult = {
  readonly status: FinalStatus;
  readonly attempts: number;
  readonly outcome: string | null;
};

/** The answer of the query `state`. `until` is ISO 8601. */
export type DeliveryState = {
  readonly nextAttempt: number;
  readonly doing: 'sending' | 'recording' | 'waiting' | 'held' | 'ended';
  readonly until: string | null;
  readonly lastOutcome: string | null;
};
