// The messages between a delivery's workflow and its attempts: ids, outcomes, times and codes, never a URL's path, a
// body, a secret or a text of a receiver.

import type { Outcome } from '../../platform/egress/outcome.ts';
import type { AttemptPhases } from './delivery.client.ts';

/** Which attempt to make. `n` is the workflow's count; the row decides when a newer attempt has taken the number. */
export type AttemptRequest = {
  readonly deliveryId: string;
  readonly generation: number;
  readonly n: number;
  /**
   * The endpoint's epoch at which the relay let this attempt begin: while an endpoint comes back, other attempts wait.
   */
  readonly grant?: number | undefined;
  /** The `traceparent` of the workflow's start, where it is traced. */
  readonly trace?: string | undefined;
};

/**
 * A POST that was made. `startedAt` is ISO 8601 by the database's clock; `responseExcerpt` is left out on its way
 * through Temporal.
 */
export type AttemptReport = {
  readonly deliveryId: string;
  readonly generation: number;
  readonly n: number;
  readonly probe: boolean;
  readonly startedAt: string;
  readonly durationMs: number;
  readonly phases: AttemptPhases;
  readonly outcome: Outcome;
  readonly retryAfterSeconds: number | null;
  readonly responseExcerpt?: string | null | undefined;
};

/** How a delivery ended; `superseded`: a newer generation's workflow owns it. */
export type FinalStatus = 'delivered' | 'failed' | 'canceled' | 'superseded';

/** The next step of the workflow. `delayMs` is never shorter than the wait in the row, by the database's clock. */
export type Step =
  | { readonly kind: 'ended'; readonly status: FinalStatus }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'held'; readonly epoch: number };

/** The last attempt in the row, as operators see it; `outcome` is a code such as `http:503`. */
export type LastAttempt = { readonly n: number; readonly outcome: string };

/**
 * `slow`: whether the POST, if one was made, took long. `unrecorded`: it was made while the database was away; it must
 * be recorded, and never repeated.
 */
export type SendResult =
  | {
      readonly kind: 'settled';
      readonly step: Step;
      readonly last?: LastAttempt | undefined;
      readonly slow?: boolean | undefined;
      readonly removed?: boolean | undefined;
    }
  | { readonly kind: 'unrecorded'; readonly report: AttemptReport };

/** `removed`: the record has removed the delivery's row of the outbox. */
export type RecordResult = {
  readonly step: Step;
  readonly last: LastAttempt;
  readonly removed?: boolean | undefined;
};

/** The step of a delivery that has ended. */
export function ended(status: FinalStatus): Step {
  return { kind: 'ended', status };
}

/** The code of an outcome, as in the attempt's row and in `LastOutcome`. */
export function outcomeCode(outcome: Outcome): string {
  return outcome.kind === 'delivered' ? `http:${outcome.statusCode}` : outcome.error;
}
