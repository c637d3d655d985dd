// A receipt of an event that ended access: what its deliveries say together, and the next step of its workflow. Pure.
// docs/decisions/0031-receipts.md
import type { ReceiptRow } from './receipt.model.ts';

/** The types of events that get a receipt. */
export const FOLLOWED = [
  'admin.agent.suspended',
  'admin.agent.deleted',
  'admin.agent.key.revoked',
  'admin.delegation.revoked',
] as const;

export const FOLLOWED_TYPES: ReadonlySet<string> = new Set(FOLLOWED);

export const RECEIVER_STATES = ['acknowledged', 'waiting', 'held', 'failed', 'canceled'] as const;
export type ReceiverState = (typeof RECEIVER_STATES)[number];

/**
 * `waiting`: a receiver may still acknowledge. `acknowledged`: all have. `unacknowledged`: all has ended without one.
 * `no_receivers`: nobody was subscribed.
 */
export const RECEIPT_STATUSES = ['waiting', 'acknowledged', 'unacknowledged', 'no_receivers'] as const;
export type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

/**
 * A subscription or a stream that gets the event. `acknowledgedAt`: when it answered, or acknowledged a polled token.
 */
export type Receiver = {
  readonly subscriptionId: string;
  readonly deliveryId: string;
  readonly kind: 'webhook' | 'stream';
  readonly host: string;
  readonly state: ReceiverState;
  readonly acknowledgedAt: Date | null;
  readonly attempts: number;
  readonly lastError: string | null;
};

export type ReceiptSummary = {
  readonly status: ReceiptStatus;
  readonly acknowledged: number;
  readonly open: number;
  /** Milliseconds from the event to the last acknowledgement so far; null without one. */
  readonly lastAckMs: number | null;
};

export function summarize(
  { createdAt, receivers: expected }: Pick<ReceiptRow, 'createdAt' | 'receivers'>,
  receivers: readonly Receiver[],
): ReceiptSummary {
  const times = receivers.flatMap(({ state, acknowledgedAt }) =>
    state === 'acknowledged' && acknowledgedAt !== null ? [acknowledgedAt.getTime()] : [],
  );
  const acknowledged = receivers.filter(({ state }) => state === 'acknowledged').length;
  const open = receivers.filter(({ state }) => state === 'waiting' || state === 'held').length;
  const isNobodys = expected === 0 && receivers.length === 0;
  const ended = acknowledged === receivers.length ? 'acknowledged' : 'unacknowledged';
  const status = open > 0 ? 'waiting' : isNobodys ? 'no_receivers' : ended;
  const lastAckMs = times.length === 0 ? null : Math.max(0, Math.max(...times) - createdAt.getTime());
  return { status, acknowledged, open, lastAckMs };
}

/**
 * One sentence for people: `11 of 12 receivers have acknowledged, the last after 0.8 s; 1 is held.`
 * @param tokensEndBy when the last access token from before the event has ended
 */
export function describeReceipt(
  { status, acknowledged, lastAckMs }: Pick<ReceiptSummary, 'status' | 'acknowledged' | 'lastAckMs'>,
  receivers: readonly Pick<Receiver, 'state'>[],
  tokensEndBy: Date,
): string {
  if (status === 'no_receivers')
    return `Nobody is told: tokens from before are valid at resource servers that follow no feed until ${wordMoment(tokensEndBy)}.`;
  const verb = receivers.length === 1 ? 'receiver has' : 'receivers have';
  const after = lastAckMs === null ? '' : `, the last after ${(lastAckMs / 1000).toFixed(1)} s`;
  const others = RECEIVER_STATES.filter((state) => state !== 'acknowledged').flatMap((state) => {
    const count = receivers.filter((receiver) => receiver.state === state).length;
    return count === 0 ? [] : [`; ${count} ${count === 1 ? 'is' : 'are'} ${state}`];
  });
  return `${acknowledged} of ${receivers.length} ${verb} acknowledged${after}${others.join('')}.`;
}

/** `2026-05-04 09:30:00 UTC` */
const wordMoment = (time: Date): string => time.toISOString().replace('T', ' ').replace(/\..*/, ' UTC');

export type ReceiptStep =
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'complete' }
  | { readonly kind: 'end' };

/** Milliseconds between two readings. They grow with the receipt's age, so a month of waiting is some 800 readings. */
const WAIT = { least: 250, most: 3_600_000, share: 0.25 } as const;

/** Milliseconds after which a receipt is followed no more: its deliveries are kept no longer. */
const FOLLOWED_FOR = 31 * 86_400_000;

/** @param now the database's time of the reading */
export function decideReceiptStep(
  { createdAt, completedAt }: Pick<ReceiptRow, 'createdAt' | 'completedAt'>,
  { open }: Pick<ReceiptSummary, 'open'>,
  now: Date,
): ReceiptStep {
  if (completedAt !== null) return { kind: 'end' };
  const age = Math.max(0, now.getTime() - createdAt.getTime());
  if (open === 0 || age > FOLLOWED_FOR) return { kind: 'complete' };
  return { kind: 'wait', delayMs: Math.round(Math.min(WAIT.most, Math.max(WAIT.least, age * WAIT.share))) };
}
