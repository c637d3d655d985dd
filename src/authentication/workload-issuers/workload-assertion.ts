// Reads the claims of a verified assertion (RFC 7523 §3, SPIFFE JWT-SVID). workload-token.service.ts verifies its
// signature.
// docs/decisions/0030-workload-issuers.md
import { sha256 } from '@noble/hashes/sha2.js';
import type { Tenant } from '../../platform/context.ts';
import { decodeBase64, encodeBase64Url } from '../../platform/crypto/base64.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { isTrustDomain, trustDomainOf, type WorkloadIssuer } from './workload-issuer.ts';

/** Name of the grant in audit entries and events. */
export const METHOD = 'jwt_bearer';

/** Seconds by which the issuer's clock may be ahead: `nbf` and `iat`, and the greatest `exp`. */
const CLOCK_AHEAD = 30;

/** Seconds from an assertion's making to its `exp`, so that a used one need not be remembered for longer. */
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
  readonly header: { readonly typ?: unknown; readonly alg?: unknown };
  readonly claims: Readonly<Record<string, unknown>>;
  /** In three parts. */
  readonly text: string;
};

/**
 * Checks the claims of an assertion whose signature and `iss` were verified. Order: type, subject, audience, times,
 * key.
 * @param now milliseconds since 1970; `exp` has no leeway
 * @throws ServiceError `invalid_grant` naming the fault
 */
export function readAssertion(
  { header, claims, text }: Verified,
  { issuer, audiences }: Pick<WorkloadIssuer, 'issuer' | 'audiences'>,
  { resumedAt }: Pick<Tenant, 'resumedAt'>,
  now: number,
): WorkloadAssertion {
  const { typ, alg } = header;
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
    throw refused(
      'is from before the tenant was suspended or the service restored, or does not say otherwise by its iat',
    );
  if (claims.cnf !== undefined) throw refused('is bound to a key of its holder');
  if (jti !== undefined && (typeof jti !== 'string' || jti === '' || jti.length > LONGEST.jti))
    throw refused('has a malformed jti');
  return { sub, jti, hash: nameOf(issuer, jti, { text, alg }), expiresAt: Number(exp), claims };
}

function checkTimes({ exp, nbf, iat }: Readonly<Record<'exp' | 'nbf' | 'iat', unknown>>, now: number): void {
  const time = now / 1000;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw refused('has no exp');
  if (exp <= time) throw refused('has expired');
  if (exp > time + LONGEST_LIFE + CLOCK_AHEAD) throw refused('must expire within a day');
  for (const [name, value] of Object.entries({ nbf, iat })) {
    if (value === undefined) continue;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw refused(`has a malformed ${name}`);
    if (value > time + CLOCK_AHEAD) throw refused('is not valid yet');
  }
}

/**
 * Returns the hash that identifies an assertion: of issuer and `jti`. Without a `jti` it covers the header, the claims
 * and the value r of an ECDSA signature. The value r is random, so two assertions of one second with the same claims
 * have two hashes. The value s is left out, because anybody can turn (r, s) into (r, -s), which is also valid.
 */
function nameOf(
  issuer: string,
  jti: string | undefined,
  { text, alg }: { text: string; alg: unknown },
): Uint8Array {
  const dot = text.lastIndexOf('.');
  const name =
    jti === undefined
      ? { issuer, signed: text.slice(0, dot), nonce: nonceOf(text.slice(dot + 1), alg) }
      : { issuer, jti };
  return sha256(new TextEncoder().encode(JSON.stringify(name)));
}

/** The r of an ECDSA signature; undefined for an algorithm that signs the same claims in the same way each time. */
function nonceOf(signature: string, alg: unknown): string | undefined {
  const bytes = decodeBase64(signature);
  // A verifier that repairs text would take one signature under several texts.
  if (bytes === null) throw refused('has a malformed signature');
  const isRandom = typeof alg === 'string' && alg.startsWith('ES');
  return isRandom ? encodeBase64Url(bytes.subarray(0, bytes.length / 2)) : undefined;
}

/** Creates `invalid_grant` (RFC 7523 §3.1). @param fault continues "The assertion"; of its text it may name `sub` */
export function refused(fault: string, cause?: unknown): ServiceError {
  return new ServiceError('invalid_grant', {
    detail: `The assertion ${fault}.`,
    ...(cause === undefined ? {} : { cause }),
  });
}
