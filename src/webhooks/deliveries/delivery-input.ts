// The input, result and state of a delivery's workflow. They contain only ids, hosts, event types and codes.
import type { AttemptRequest, FinalStatus, LastAttempt, Step } from './attempt.ts';

/** The input of `webhookDelivery`. The fields below the line are set when the workflow continues as new. */
export type DeliveryInput = AttemptRequest & {
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly eventType: string;
  /** The receiver's host alone, because a URL's path may contain a secret. */
  readonly host: string;
  /** The workflow's first attempt runs inside the workflow task, as a local activity. Only for fast receivers. */
  readonly local: boolean;
  /** The task queue of all attempts that are not local. Attempts to slow receivers use `slowQueue`. */
  readonly attemptsQueue: string;
  readonly slowQueue: string;
  readonly indexed: boolean;
  // ----
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
