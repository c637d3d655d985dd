// Parses client assertions, and checks that an assertion is for this issuer and valid now (RFC 7523 §3).
// client-assertion.service.ts verifies its signature.
import type { Tenant } from '../../platform/context.ts';
import { parseCompactJws } from '../../platform/crypto/jws.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { assertionAlgorithmsOf } from './client-method.ts';

/** Seconds from an assertion's making to its `exp`, and seconds by which the client's clock may be ahead. */
const LONGEST_ASSERTION = 300;
const CLOCK_SKEW = 10;

/** Greatest length of a `jti` in characters. */
const LONGEST_JTI = 256;

export type AssertionAlgorithm = 'ES256' | 'EdDSA' | 'PS256' | 'RS256';

/**
 * Explicit types of a client assertion (draft-ietf-oauth-rfc7523bis §4), in lower case. A text that says it is
 * something else, such as an access token or a proof, is refused (RFC 8725 §3.11).
 */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'client-authentication+jwt'];

/** A well-formed client assertion. Times are Unix seconds. */
export type ClientAssertion = {
  readonly algorithm: AssertionAlgorithm;
  readonly kid: string | undefined;
  /** `iss`, which equals `sub`. */
  readonly clientId: string;
  readonly audience: unknown;
  readonly jti: string;
  readonly expiresAt: number;
  /** `iat`. When it is absent, the earliest time at which the client can have made the assertion. */
  readonly issuedAt: number;
  readonly notBefore: number;
  readonly signed: string;
  readonly signature: Uint8Array;
};

/** Parses an assertion. @param tenant whose profile may exclude its algorithm @throws ServiceError `invalid_client` */
export function parseAssertion(text: string, tenant: Pick<Tenant, 'securityProfile'>): ClientAssertion {
  const jws = parseCompactJws(text);
  if (jws === null) throw refused('is not a JWT in compact form');
  const { alg, kid, crit, typ } = jws.header;
  const { iss, sub, aud, exp, nbf, iat, jti } = jws.payload;
  const algorithms = assertionAlgorithmsOf(tenant);
  if (typeof alg !== 'string' || !algorithms.includes(alg))
    throw refused(`must be signed with one of ${algorithms.join(', ')}`);
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : typ;
  if (!TYPES.includes(type)) throw refused('must have the typ client-authentication+jwt');
  if (crit !== undefined) throw refused('has critical header parameters; none is known');
  if (kid !== undefined && typeof kid !== 'string') throw refused('has a kid that is not a text');
  if (typeof iss !== 'string' || iss !== sub) throw refused('must have the client_id as iss and as sub');
  if (typeof exp !== 'number' || !Number.isFinite(exp)) throw refused('lacks exp');
  if (typeof jti !== 'string' || jti === '' || jti.length > LONGEST_JTI)
    throw refused(`needs a jti of at most ${LONGEST_JTI} characters`);
  return {
    algorithm: alg === 'ES256' || alg === 'PS256' || alg === 'RS256' ? alg : 'EdDSA',
    kid,
    clientId: iss,
    audience: aud,
    jti,
    expiresAt: exp,
    issuedAt: iat === undefined ? exp - LONGEST_ASSERTION : seconds(iat, 'iat'),
    notBefore: Math.max(seconds(nbf, 'nbf'), seconds(iat, 'iat')),
    signed: jws.signed,
    signature: jws.signature,
  };
}

/**
 * Checks that the assertion is for this issuer and valid now.
 * @param tenant.issuerUrl the only audience; with a security profile it must be a text, not a list (FAPI 2.0 §5.3.2.1)
 * @param now milliseconds since 1970
 * @param tenant.resumedAt end of the tenant's latest suspension; older assertions are refused
 * @throws ServiceError `invalid_client`
 */
export function checkAssertion(
  assertion: ClientAssertion,
  { issuerUrl, resumedAt, securityProfile }: Pick<Tenant, 'issuerUrl' | 'resumedAt' | 'securityProfile'>,
  now: number,
): void {
  const { audience, expiresAt, issuedAt, notBefore } = assertion;
  const time = now / 1000;
  const names = Array.isArray(audience) ? audience : [audience];
  if (securityProfile !== undefined && typeof audience !== 'string')
    throw refused('must have the issuer as its aud, as a text');
  if (names.length !== 1 || names[0] !== issuerUrl)
    throw refused(`must have the issuer, ${issuerUrl}, as its only aud`);
  if (expiresAt <= time) throw refused('has expired');
  if (expiresAt > time + LONGEST_ASSERTION + CLOCK_SKEW)
    throw refused(`must expire within ${LONGEST_ASSERTION} seconds`);
  if (notBefore > time + CLOCK_SKEW) throw refused('is not valid yet');
  if (resumedAt !== undefined && issuedAt * 1000 <= resumedAt.getTime())
    throw refused(
      'is from before the tenant was suspended or the service restored, or does not say otherwise by its iat',
    );
}

/** Creates `invalid_client`. @param fault continues "The client assertion" and repeats no part of the request */
export function refused(fault: string): ServiceError {
  return new ServiceError('invalid_client', { detail: `The client assertion ${fault}.` });
}

function seconds(value: unknown, name: 'nbf' | 'iat'): number {
  if (value === undefined) return 0;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw refused(`has an ${name} that is not a number`);
}
