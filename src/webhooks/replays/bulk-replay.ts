// A bulk replay: many deliveries of one subscription are replayed. Pure.
import type { ReplayableStatus } from '../deliveries/replay.store.ts';

export const BULK_REPLAY_STATUSES = ['running', 'completed', 'canceled'] as const;
export type BulkReplayStatus = (typeof BULK_REPLAY_STATUSES)[number];

/** Why a bulk replay was canceled. */
export const BULK_REPLAY_ENDS = ['canceled', 'subscription_deleted'] as const;
export type BulkReplayEnd = (typeof BULK_REPLAY_ENDS)[number];

/** `matched`: deliveries in the range when it began. `nextAfter`: all up to this delivery are done. */
export type BulkReplay = {
  readonly id: string;
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly deliveryStatus: ReplayableStatus;
  readonly since: Date;
  readonly until: Date;
  readonly status: BulkReplayStatus;
  readonly endReason: BulkReplayEnd | null;
  readonly matched: number;
  readonly replayed: number;
  readonly nextAfter: string;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
};

/**
 * Deliveries that are still to be replayed: none when it is completed, even if fewer were replayed than matched,
 * because the others were replayed by hand or deleted meanwhile.
 */
export function remainingOf({ status, matched, replayed }: BulkReplay): number {
  return status === 'completed' ? 0 : Math.max(0, matched - replayed);
}
