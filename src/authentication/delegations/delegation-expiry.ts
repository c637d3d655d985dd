// Decides the next step of a delegation's workflow. Exchanges and tokens do their own checks.
import type { DelegationRow } from './delegation.model.ts';
import type { DelegationStatus } from './delegation.ts';

/** A delegation at `now`, the database's time. `revokedAt` is also set when its agent was deleted. */
export type DelegationCase = Pick<
  DelegationRow,
  'tenantId' | 'id' | 'agentId' | 'scopes' | 'expiresAt' | 'expiredAt' | 'revokedAt'
> & { readonly now: Date };

export type DelegationStep =
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'expire' }
  | { readonly kind: 'end' };

/** Longest sleep of the workflow in milliseconds. Then it reads the delegation again, in case a signal was lost. */
const LONGEST_WAIT = 86_400_000;

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
