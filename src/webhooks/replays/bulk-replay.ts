// The type of a bulk replay: many deliveries of one subscription are replayed. Pure.
import type { BulkReplayRow } from './bulk-replay.model.ts';

export const REPLAYABLE = ['failed', 'canceled', 'delivered'] as const;
export type ReplayableStatus = (typeof REPLAYABLE)[number];

export const BULK_REPLAY_STATUSES = ['running', 'completed', 'canceled'] as const;
export type BulkReplayStatus = (typeof BULK_REPLAY_STATUSES)[number];

export const BULK_REPLAY_ENDS = ['canceled', 'subscription_deleted'] as const;
export type BulkReplayEnd = (typeof BULK_REPLAY_ENDS)[number];

/** What has become of deliveries that were replayed, as they are now. `unknown`: their rows are gone, or not named. */
export const REPLAY_OUTCOMES = ['delivered', 'waiting', 'failed', 'canceled', 'unknown'] as const;

export type BulkReplay = BulkReplayRow & {
  readonly outcomes?: Readonly<Record<(typeof REPLAY_OUTCOMES)[number], number>>;
};

/**
 * @returns how many deliveries are still to be replayed. A completed bulk replay has none, even if `replayed` is less
 *   than `matched`, because the missing deliveries were replayed by hand or deleted.
 */
export function remainingOf({ status, matched, replayed }: BulkReplay): number {
  return status === 'completed' ? 0 : Math.max(0, matched - replayed);
}
