// Reads the claims of a verified assertion (RFC 7523 §3, SPIFFE JWT-SVID). workload-token.service.ts verifies its
// signature.
import { sha256 } from '@noble/hashes/sha2.js';
import type { Tenant } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { isTrustDomain, trustDomainOf, type WorkloadIssuer } from './workload-issuer.ts';

/** Name of the grant in audit entries and events. */
export const METHOD = 'jwt_bearer';

/** Seconds by which `nbf` and `iat` may be in the future, because the issuer's clock may be ahead. */
const CLOCK_AHEAD = 30;

/** Seconds that `exp` may be in the future, so that a used assertion need not be remembered for longer. */
const LONGEST_LIFE = 86_400;

const LONGEST = { jti: 1_024, sub: 2_048 } as const;

/**
 * `typ` of such assertions. A text that says it is an access token, a proof or something else is refused (RFC 8725).
 */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'jose'];

/** `hash` names the assertion among all of a tenant's; `expiresAt` is in Unix seconds. */
export type WorkloadAssertion = {
  readonly sub: string;
  readonly jti: string | undefined;
  readonly hash: Uint8Array;
  readonly expiresAt: number;
  readonly claims: Readonly<Record<string, unknown>>;
};

type Verified = {
  readonly header: { readonly typ?: unknown };
  readonly claims: Readonly<Record<string, unknown>>;
  /** The first two parts of the text, which the signature covers. */
  readonly signed: string;
};

/**
 * Checks the claims of an assertion whose signature and `iss` were verified. Order: type, subject, audience, times,
 * key.
 * @param now milliseconds since 1970; `exp` has no leeway
 * @throws ServiceError `invalid_grant` naming the fault
 */
export function readAssertion(
  { header, claims, signed }: Verified,
  { issuer, audiences }: Pick<WorkloadIssuer, 'issuer' | 'audiences'>,
  { resumedAt }: Pick<Tenant, 'resumedAt'>,
  now: number,
): WorkloadAssertion {
  const { typ } = header;
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (!TYPES.includes(type)) throw refused('is of another type');
  const { sub, aud, exp, nbf, iat, jti } = claims;
  if (typeof sub !== 'string' || sub === '' || sub.length > LONGEST.sub || /[\p{Cc}\p{Cs}]/u.test(sub))
    throw refused('has no sub, or a malformed one');
  if (isTrustDomain(issuer) && trustDomainOf(sub) !== issuer)
    throw refused('has a sub that is no SPIFFE ID of its trust domain');
  const names: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (names.length === 0 || !names.every((name) => audiences.some((audience) => audience === name)))
    throw refused('is for another audience');
  checkTimes({ exp, nbf, iat }, now);
  if (resumedAt !== undefined && !(typeof iat === 'number' && iat * 1000 > resumedAt.getTime()))
    throw refused('is from before the tenant was suspended, or does not say otherwise by its iat');
  if (claims.cnf !== undefined) throw refused('is bound to a key of its holder');
  if (jti !== undefined && (typeof jti !== 'string' || jti === '' || jti.length > LONGEST.jti))
    throw refused('has a malformed jti');
  return { sub, jti, hash: nameOf(issuer, jti, signed), expiresAt: Number(exp), claims };
}

function checkTimes({ exp, nbf, iat }: Readonly<Record<'exp' | 'nbf' | 'iat', unknown>>, now: number): void {
  const time = now / 1000;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw refused('has no exp');
  if (exp <= time) throw refused('has expired');
  if (exp > time + LONGEST_LIFE) throw refused('must expire within a day');
  for (const [name, value] of Object.entries({ nbf, iat })) {
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw refused(`has a malformed ${name}`);
    if (value > time + CLOCK_AHEAD) throw refused('is not valid yet');
  }
}

/**
 * Returns the name of an assertion: of its issuer and `jti`, or of what is signed. The signature is left out, because
 * an ECDSA signature can be turned into another one that is as good.
 */
function nameOf(issuer: string, jti: string | undefined, signed: string): Uint8Array {
  const name = jti === undefined ? { issuer, signed } : { issuer, jti };
  return sha256(new TextEncoder().encode(JSON.stringify(name)));
}

/** Creates `invalid_grant` (RFC 7523 §3.1). @param fault continues "The assertion" and repeats no part of it */
export function refused(fault: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_grant', {
    detail: `The assertion ${fault}.`,
    ...(cause === undefined ? {} : { cause }),
  });
}
