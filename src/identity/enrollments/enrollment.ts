// What an enrollment token is worth, and when it is worth nothing. It must never look at a clock itself, nor hold a token's text.
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import type { EnrollmentTokenRow } from './enrollment.model.ts';

/** Seconds that an enrollment token lives: 1 hour. */
export const ENROLLMENT_LIFETIME = 3_600;

/** What the text of an enrollment token begins with, so that one that leaks is recognised; 256 random bits in base64url follow. */
export const TOKEN_PREFIX = 'enroll_';

export const ENROLLMENT_STATUSES = ['open', 'used', 'revoked', 'expired'] as const;
export type EnrollmentStatus = (typeof ENROLLMENT_STATUSES)[number];

/** An enrollment token without its hash. */
export type EnrollmentToken = Omit<EnrollmentTokenRow, 'hash'>;

/** A token with its agent as they are now; `now` is the database's clock at the reading. */
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

/** What has become of a token. How it ended counts for more than that its time is over, too. */
export function statusAt(token: EnrollmentToken, now: Date): EnrollmentStatus {
  if (token.usedAt !== null) return 'used';
  if (token.revokedAt !== null) return 'revoked';
  return token.expiresAt.getTime() <= now.getTime() ? 'expired' : 'open';
}

/** Judges a token that was presented: its own life, then its agent's. @returns undefined when a key may be registered with it */
export function judgePresented({ token, agent, now }: PresentedToken): EnrollmentRefusal | undefined {
  const status = statusAt(token, now);
  if (status !== 'open') return { code: 'invalid_grant', detail: ENDED[status] };
  if (agent.isDeleted)
    return { code: 'invalid_grant', detail: 'The enrollment token has ended with its agent.' };
  if (agent.status === 'suspended') return { code: 'policy_denied', detail: 'The agent is suspended.' };
  return undefined;
}
