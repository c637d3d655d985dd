// Finds the key of another issuer that verifies a token of it, given inline or fetched.

import type { KeyObject } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload } from 'jose';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { importJwk } from '../../platform/crypto/jws.node.ts';
import type { OutsideTurn } from '../../platform/database/turns.ts';
import type { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { NoteFetch } from './fetch-note.service.ts';
import { selectKey } from './jwk-set.ts';
import type { KeySetCache } from './key-set.service.ts';
import type { TrustedIssuer } from './trusted-issuer.ts';

const KEYS_KEPT = 2_000;

/** Greatest length of a token in characters. Tokens of other issuers may be longer than tokens of this service. */
const LONGEST_TOKEN = 16_384;

/** The part of a token's header that selects its key. */
export type KeyWanted = { readonly kid?: string | undefined; readonly alg: string };

/** Creates the error for a token. @param fault continues a sentence that begins with the token */
export type Refuse = (fault: string, cause?: unknown) => ServiceError;

export type IssuerKeyFinderNeeds = {
  /** Caches the keys of issuers that publish them at an address. */
  issuerKeySets: KeySetCache;
  /** Keeps what a fetch met, null or why it failed. */
  noteFetch: NoteFetch;
};

export class IssuerKeyFinder extends Service<IssuerKeyFinderNeeds> {
  // The cache key contains all members of the JWK, so a changed JWK is imported again.
  readonly #imported = createBoundedCache<KeyObject>({ limit: KEYS_KEPT });

  /**
   * @param outsideTurn waits for a fetch of the keys
   * @throws the error of `refuse` when the issuer has no such key, or several; ServiceError `temporarily_unavailable`
   * when its keys cannot be fetched
   */
  find = async (
    { id, tenantId, jwksUri, jwks }: Pick<TrustedIssuer, 'id' | 'tenantId' | 'jwksUri' | 'jwks'>,
    wanted: KeyWanted,
    refuse: Refuse,
    outsideTurn?: OutsideTurn | undefined,
  ): Promise<KeyObject> => {
    const found =
      jwksUri === null
        ? selectKey(jwks?.keys ?? [], wanted)
        : await this.needs.issuerKeySets.find(
            { id, uri: jwksUri, note: (error) => this.needs.noteFetch({ id, tenantId, jwksUri }, error) },
            wanted,
            outsideTurn,
          );
    if (found === 'unknown') throw refuse('is signed with a key that its issuer does not have');
    if (found === 'ambiguous')
      throw refuse(
        wanted.kid === undefined
          ? 'names no kid, and several keys of its issuer fit'
          : 'names a kid that several keys of its issuer have',
      );
    try {
      return this.#imported.get(JSON.stringify(found), () => importJwk(found));
    } catch (error) {
      throw refuse('is signed with a key that is not valid', error);
    }
  };
}

/** Reads the claims of a token before anything is verified. @throws the error of `refuse` for what is no JWT */
export function peekClaims(token: string, refuse: Refuse): JWTPayload {
  if (token.length > LONGEST_TOKEN)
    throw refuse(`has ${token.length} characters, of at most ${LONGEST_TOKEN}`);
  try {
    return decodeJwt(token);
  } catch (error) {
    throw refuse('is not a JWT', error);
  }
}

/** Returns the error for the fault that a verification has found; any other error as it is. */
export function refuseToken(error: unknown, refuse: Refuse): unknown {
  return error instanceof errors.JOSEError ? refuse(faultOf(error), error) : error;
}

function faultOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'has expired';
  if (error instanceof errors.JWTClaimValidationFailed) return `has a wrong or missing ${error.claim}`;
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a wrong signature';
  if (error instanceof errors.JOSEAlgNotAllowed) return 'has an alg that is not accepted';
  return 'is malformed';
}
