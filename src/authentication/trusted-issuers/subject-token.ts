// Reads the claims of a user's token from another issuer. subject-token.service.ts checks the signature.

import { ServiceError } from '../../platform/errors/service-error.ts';
import { parseScope } from '../../platform/scope-hash.ts';
import { isSub } from '../users/subject.ts';

/** A user as named by a trusted issuer's token. */
export type VerifiedSubject = {
  readonly issuer: string;
  readonly sub: string;
  /** Scopes of the token. Absent when the token has none, like an ID token. */
  readonly scopes?: readonly string[] | undefined;
  /** Unix seconds. */
  readonly exp: number;
  /** The claims `act` and `may_act`, unchanged (RFC 8693 §4.1, §4.4). */
  readonly act?: unknown;
  readonly mayAct?: unknown;
};

/** Seconds by which `nbf` and `iat` may be in the future, because the other issuer's clock may be ahead. */
export const CLOCK_AHEAD = 30;

/** `typ` of usual access and ID tokens. Tokens for other purposes are refused (RFC 8725 §3.11). */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt'];

/**
 * Reads the claims of a verified token.
 * @param now milliseconds since 1970; `exp` has no leeway
 * @throws ServiceError `invalid_request` for another `typ`, a missing or malformed `sub`, `exp` or scope, an expired
 * token, a token from the future, or a token that is bound to a key
 */
export function readSubjectClaims(
  { typ }: { readonly typ?: unknown },
  claims: Readonly<Record<string, unknown>>,
  now: number,
): VerifiedSubject {
  // jose declares `typ` as text, but the header may contain any JSON value.
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (!TYPES.includes(type)) throw invalidSubjectToken('is of another type');
  const { iss, sub, exp, iat, act, may_act: mayAct } = claims;
  if (!isSub(sub)) throw invalidSubjectToken('has no sub, or a malformed one');
  if (typeof iss !== 'string' || typeof exp !== 'number' || !Number.isFinite(exp))
    throw invalidSubjectToken('has no exp');
  if (exp * 1000 <= now) throw invalidSubjectToken('has expired');
  if (typeof iat === 'number' && iat > now / 1000 + CLOCK_AHEAD)
    throw invalidSubjectToken('was issued in the future');
  if (claims.cnf !== undefined)
    throw invalidSubjectToken('is bound to a key of its holder and must not be passed on');
  const scopes = readScopes(claims);
  return {
    issuer: iss,
    sub,
    exp,
    ...(scopes === undefined ? {} : { scopes }),
    ...(act === undefined ? {} : { act }),
    ...(mayAct === undefined ? {} : { mayAct }),
  };
}

/**
 * Creates `invalid_request`, the error of RFC 8693 §2.2.2 for a refused subject token.
 * @param fault continues a sentence that begins with "The subject token"
 */
export function invalidSubjectToken(fault: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_request', {
    detail: `The subject token ${fault}.`,
    ...(cause === undefined ? {} : { cause }),
  });
}

/**
 * Reads `scope` (RFC 8693 §4.2), or `scp`, which some issuers use instead, as text or as a list. `null` allows nothing,
 * as an empty text does: only a claim that is absent is no limit.
 */
function readScopes({ scope, scp }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const claim = scope === undefined ? scp : scope;
  if (claim === undefined) return undefined;
  if (claim === null) return [];
  const text =
    Array.isArray(claim) && claim.every((item) => typeof item === 'string') ? claim.join(' ') : claim;
  const scopes = typeof text === 'string' ? parseScope(text) : null;
  if (scopes === null) throw invalidSubjectToken('has a malformed scope');
  return scopes;
}
