// The messages between a delivery's workflow and its attempts. They contain ids, outcomes, times and codes, but no URL
// path, body, secret or text of a receiver.

import type { Outcome } from '../../platform/egress/outcome.ts';
import type { AttemptPhases } from './delivery.client.ts';

/** The attempt to make. `n` is the workflow's count; when a newer attempt has taken `n`, the row gives a later one. */
export type AttemptRequest = {
  readonly deliveryId: string;
  readonly generation: number;
  readonly n: number;
  /** The endpoint's epoch at which the relay let this attempt begin. A paced endpoint accepts no attempt without it. */
  readonly grant?: number | undefined;
  readonly trace?: string | undefined;
};

/**
 * A POST that was made. `startedAt` is ISO 8601 by the database's clock. `responseExcerpt` is removed before the report
 * is sent through Temporal.
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

/** The final status of a workflow's delivery. `superseded`: a workflow of a newer generation has taken over. */
export type FinalStatus = 'delivered' | 'failed' | 'canceled' | 'superseded';

/** `delayMs` is at least the wait in the row, by the database's clock. */
export type Wait = { readonly kind: 'wait'; readonly delayMs: number };

/** The next step of the workflow. */
export type Step =
  | { readonly kind: 'ended'; readonly status: FinalStatus }
  | Wait
  | { readonly kind: 'held'; readonly epoch: number };

/** The last attempt in the row, shown to operators. `outcome` is a code such as `http:503`. */
export type LastAttempt = { readonly n: number; readonly outcome: string };

/**
 * `slow` is whether the POST took long; undefined without a POST. `unrecorded`: the POST was made while the database
 * was unreachable, so the caller must record it and must not repeat it.
 */
export type SendResult =
  | {
      readonly kind: 'settled';
      readonly step: Step;
      readonly last?: LastAttempt | undefined;
      readonly slow?: boolean | undefined;
      readonly crowded?: boolean | undefined;
      readonly removed?: boolean | undefined;
    }
  | { readonly kind: 'unrecorded'; readonly report: AttemptReport };

/**
 * `crowded`: the delivery waits in the crowd of its endpoint. `removed`: the record has removed its row of the outbox.
 */
export type RecordResult = {
  readonly step: Step;
  readonly last: LastAttempt;
  readonly crowded?: boolean | undefined;
  readonly removed?: boolean | undefined;
};

export function ended(status: FinalStatus): Step {
  return { kind: 'ended', status };
}

/** @returns the code of an outcome, such as `http:503`, as in the attempt's row and in `LastOutcome` */
export function outcomeCode(outcome: Outcome): string {
  return outcome.kind === 'delivered' ? `http:${outcome.statusCode}` : outcome.error;
}
