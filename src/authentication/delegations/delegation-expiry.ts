// The step that is due for a delegation. Pure. Whether a delegation may be used is decided where it is used, not here.
import type { DelegationStatus } from './delegation.ts';

/** A delegation as it is at `now`, the database's clock; `revokedAt` is set too when its agent was deleted. */
export type DelegationCase = {
  readonly tenantId: string;
  readonly id: string;
  readonly agentId: string;
  readonly scopes: readonly string[];
  readonly expiresAt: Date;
  /** The time at which its end was recorded. */
  readonly expiredAt: Date | null;
  readonly revokedAt: Date | null;
  readonly now: Date;
};

/** `expire`: record its end. */
export type DelegationStep =
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'expire' }
  | { readonly kind: 'end' };

/** Milliseconds: the workflow reads its delegation daily, also without a signal. */
const LONGEST_WAIT = 86_400_000;

/** The next step of a delegation. */
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
