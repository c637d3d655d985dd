// Types and rules of enrollment tokens: their status, and the reasons to refuse an enrollment. The caller passes the
// time.
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import type { EnrollmentTokenRow } from './enrollment.model.ts';

/** Lifetime of an enrollment token in seconds: 1 hour. */
export const ENROLLMENT_LIFETIME = 3_600;

/** Prefix of each token, so that scanners recognise a leaked one. 256 random bits in base64url follow. */
export const TOKEN_PREFIX = 'enroll_';

export const ENROLLMENT_STATUSES = ['open', 'used', 'revoked', 'expired'] as const;
export type EnrollmentStatus = (typeof ENROLLMENT_STATUSES)[number];

export type EnrollmentToken = Omit<EnrollmentTokenRow, 'hash'>;

/** A token and its agent. `now` is the database's time of the read. */
export type PresentedToken = {
  readonly token: EnrollmentToken;
  readonly agent: { readonly status: 'active' | 'suspended'; readonly isDeleted: boolean };
  readonly now: Date;
};

export type EnrollmentRefusal = { readonly code: ErrorCode; readonly detail: string };

const ENDED: Readonly<Record<Exclude<EnrollmentStatus, 'open'>, string>> = {
  used: 'The enrollment token was used; it registers one key only.',
  revoked: 'The enrollment token is revoked.',
  expired: 'The enrollment token has expired.',
};

/**
 * SQL of the time at which a row `token` was revoked. A suspension of the tenant revokes all tokens that were created
 * before the end of the suspension.
 */
export const REVOKED_AT = `coalesce(token.revoked_at, (
  SELECT greatest(tenant.suspended_at, CASE WHEN token.created_at <= tenant.resumed_at THEN tenant.resumed_at END)
  FROM tenants tenant WHERE tenant.id = token.tenant_id))`;

/** SQL: an agent may register a key with the row `token`. */
export const OPEN = `token.used_at IS NULL AND token.expires_at > now() AND ${REVOKED_AT} IS NULL`;

/** Returns the status of a token. Use and revocation have precedence over expiry. */
export function statusAt(token: EnrollmentToken, now: Date): EnrollmentStatus {
  if (token.usedAt !== null) return 'used';
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt.getTime() <= now.getTime() ? 'expired' : 'open';
}

/** Checks the token's status, then the agent's. @returns undefined when a key may be registered with the token */
export function judgePresented({ token, agent, now }: PresentedToken): EnrollmentRefusal | undefined {
  const status = statusAt(token, now);
  if (status !== 'open') return { code: 'invalid_grant', detail: ENDED[status] };
  if (agent.isDeleted)
    return { code: 'invalid_grant', detail: 'The enrollment token has ended with its agent.' };
  if (agent.status === 'suspended') return { code: 'policy_denied', detail: 'The agent is suspended.' };
  return undefined;
}
