// The life of an enrollment token: its status, and when an enrollment is refused. The caller passes the time.
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import type { EnrollmentTokenRow } from './enrollment.model.ts';

/** Seconds that an enrollment token lives: 1 hour. */
export const ENROLLMENT_LIFETIME = 3_600;

/** Prefix of each enrollment token, by which a leaked one is recognised; 256 random bits in base64url follow. */
export const TOKEN_PREFIX = 'enroll_';

export const ENROLLMENT_STATUSES = ['open', 'used', 'revoked', 'expired'] as const;
export type EnrollmentStatus = (typeof ENROLLMENT_STATUSES)[number];

/** An enrollment token without its hash. */
export type EnrollmentToken = Omit<EnrollmentTokenRow, 'hash'>;

/** A token and its agent at the time of the read; `now` is the database's time. */
export type PresentedToken = {
  readonly token: EnrollmentToken;
  readonly agent: { readonly status: 'active' | 'suspended'; readonly isDeleted: boolean };
  readonly now: Date;
};

/** Why an enrollment is refused. */
export type EnrollmentRefusal = { readonly code: ErrorCode; readonly detail: string };

const ENDED: Readonly<Record<Exclude<EnrollmentStatus, 'open'>, string>> = {
  used: 'The enrollment token was used; it registers one key only.',
  revoked: 'The enrollment token is revoked.',
  expired: 'The enrollment token has expired.',
};

/** The status of a token. Use and revocation count before expiry. */
export function statusAt(token: EnrollmentToken, now: Date): EnrollmentStatus {
  if (token.usedAt !== null) return 'used';
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt.getTime() <= now.getTime() ? 'expired' : 'open';
}

/** Checks a presented token: its status, then its agent's. @returns undefined when a key may be registered with it */
export function judgePresented({ token, agent, now }: PresentedToken): EnrollmentRefusal | undefined {
  const status = statusAt(token, now);
  if (status !== 'open') return { code: 'invalid_grant', detail: ENDED[status] };
  if (agent.isDeleted)
    return { code: 'invalid_grant', detail: 'The enrollment token has ended with its agent.' };
  if (agent.status === 'suspended') return { code: 'policy_denied', detail: 'The agent is suspended.' };
  return undefined;
}
