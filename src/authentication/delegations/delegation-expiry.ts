// What time makes due for a delegation. Pure; whether a delegation may be used is decided where it is used, never by
// this.
import type { DelegationStatus } from './delegation.ts';

/** A delegation as it stands at `now`, the database's clock; `revokedAt` also when its agent was deleted. */
export type DelegationCase = {
  readonly tenantId: string;
  readonly id: string;
  readonly agentId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date;
  /** When its end was written down. */
  readonly expiredAt: Date | null;
  readonly revokedAt: Date | null;
  readonly now: Date;
};

/** `expire`: its end is to be written down. */
export type DelegationStep =
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'expire' }
  | { readonly kind: 'end' };

/** Milliseconds: each delegation is read daily, also without a signal. */
const LONGEST_WAIT = 86_400_000;

/** What is to be done about a delegation now. */
export function decideDelegationStep({
  expiresAt,
  expiredAt,
  revokedAt,
  now,
}: Pick<DelegationCase, 'expiresAt' | 'expiredAt' | 'revokedAt' | 'now'>): DelegationStep {
  if (revokedAt !== null || expiredAt !== null) return { kind: 'end' };
  const left = expiresAt.getTime() - now.getTime();
  return left <= 0 ? { kind: 'expire' } : { kind: 'wait', delayMs: Math.min(left, LONGEST_WAIT) };
}

/** Source: Specification, "Anchor and delegation". */
export function statusOf({
  expiresAt,
  revokedAt,
  now,
}: Pick<DelegationCase, 'expiresAt' | 'revokedAt' | 'now'>): DelegationStatus {
  if (revokedAt !== null) return 'revoked';
  return expiresAt.getTime() <= now.getTime() ? 'expired' : 'active';
}
