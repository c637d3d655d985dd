// A bulk replay: many deliveries of one subscription are replayed. Pure.
import type { ReplayableStatus } from '../deliveries/replay.store.ts';

export const RECOVERY_STATUSES = ['running', 'completed', 'canceled'] as const;
export type RecoveryStatus = (typeof RECOVERY_STATUSES)[number];

/** Why a bulk replay was canceled. */
export const RECOVERY_ENDS = ['canceled', 'subscription_deleted'] as const;
export type RecoveryEnd = (typeof RECOVERY_ENDS)[number];

/** `matched`: deliveries in the range when it began. `nextAfter`: all up to this delivery are done. */
export type Recovery = {
  readonly id: string;
  readonly tenantId: string;
  readonly subscriptionId: string;
  readonly deliveryStatus: ReplayableStatus;
  readonly since: Date;
  readonly until: Date;
  readonly status: RecoveryStatus;
  readonly endReason: RecoveryEnd | null;
  readonly matched: number;
  readonly replayed: number;
  readonly nextAfter: string;
  readonly createdAt: Date;
  readonly completedAt: Date | null;
};

/**
 * Deliveries that are still to be replayed: none when it is completed, even if fewer were replayed than matched, because the others were
 * replayed by hand or deleted meanwhile.
 */
export function remainingOf({ status, matched, replayed }: Recovery): number {
  return status === 'completed' ? 0 : Math.max(0, matched - replayed);
}
