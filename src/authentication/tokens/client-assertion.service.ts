// Verifies client assertions (RFC 7523). Each assertion is accepted once, even when several processes receive it.

import { createHash, type KeyObject, randomBytes } from 'node:crypto';
import type { Client } from '../../identity/applications/application.service.ts';
import type { ApplicationJwk } from '../../identity/applications/application-jwks.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import { generatePublicJwk } from '../../platform/crypto/generated-key.node.ts';
import { thumbprintOf } from '../../platform/crypto/jwk.ts';
import { importJwk, verifyJws } from '../../platform/crypto/jws.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import * as store from './client-assertion.store.ts';
import { type ClientAssertion, checkAssertion, parseAssertion, refused } from './client-assertion.ts';

/** These keys verify an assertion of a client without keys, so that its refusal takes as long as any refusal. */
const NOBODYS_KEYS: Readonly<Record<ClientAssertion['algorithm'], ApplicationJwk>> = {
  ES256: makeKey('ES256'),
  EdDSA: makeKey('EdDSA'),
  // A random modulus costs a verification as much as one of two primes, which take long to find.
  PS256: { kty: 'RSA', n: makeModulus(), e: 'AQAB', alg: 'PS256' },
  RS256: { kty: 'RSA', n: makeModulus(), e: 'AQAB', alg: 'RS256' },
};

/** Greatest number of imported keys in the cache, by thumbprint: an import costs three quarters of a verification. */
const KEYS_KEPT = 10_000;

/** Verifies signed assertions of applications. @param now milliseconds since 1970 */
export class ClientAssertionService extends Service<{
  database: Pick<Database, 'query'>;
  now?: (() => number) | undefined;
}> {
  readonly #now = this.needs.now ?? Date.now;
  readonly #isGoodUse = store.openUses(this.needs.database);
  readonly #imported = createBoundedCache<KeyObject>({ limit: KEYS_KEPT });

  /** Reads an assertion without a check of its signature. @throws ServiceError `invalid_client` */
  read = (text: string, tenant: Pick<Tenant, 'securityProfile'>): ClientAssertion =>
    parseAssertion(text, tenant);

  /**
   * Verifies an assertion of this client and records its use. Order of the checks: audience and times; signature by
   * one of the client's keys (by the key with the assertion's `kid`, if it has one); `jti`. The check of `jti` is one
   * round trip.
   * @param client undefined for an unknown client, which gets the same answer after the same work as a wrong
   * signature
   * @param request the digest of the request, which may use the assertion again after a lost answer; absent where
   * none may
   * @returns the thumbprint (RFC 7638) of the key that signed
   * @throws ServiceError `invalid_client`
   */
  verify = async (
    context: RequestContext,
    client: Client | undefined,
    assertion: ClientAssertion,
    request?: Uint8Array | undefined,
  ): Promise<string> => {
    checkAssertion(assertion, context.tenant, this.#now());
    const { algorithm, kid, signed, signature, jti } = assertion;
    const keys = (client?.keys ?? []).filter(
      (key) => key.alg === algorithm && (kid === undefined || key.kid === undefined || key.kid === kid),
    );
    const isSignedWith = (jwk: ApplicationJwk) =>
      verifyJws({ algorithm: jwk.alg, key: this.#importOnce(jwk) }, signed, signature);
    const key = (keys.length === 0 ? [NOBODYS_KEYS[algorithm]] : keys).find(isSignedWith);
    if (key === undefined || client === undefined || !keys.includes(key))
      throw refused(
        algorithm === 'RS256'
          ? 'is not signed with a key of this client for RS256, which has alg RS256 in its JWK'
          : 'is not signed with a key of this client',
      );
    const use = {
      owner: client.id,
      hash: createHash('sha256').update(jti).digest(),
      expiresAt: assertion.expiresAt,
      request,
    };
    if (!(await this.#isGoodUse(use))) throw refused('was used before');
    return thumbprintOf(key);
  };

  #importOnce = (jwk: ApplicationJwk) => this.#imported.get(thumbprintOf(jwk), () => importJwk(jwk));
}

function makeModulus(): string {
  const bytes = randomBytes(256);
  bytes[0] = 0xff;
  bytes[255] = 0xff;
  return bytes.toString('base64url');
}

function makeKey(alg: 'ES256' | 'EdDSA'): ApplicationJwk {
  const { x = '', y } = generatePublicJwk(alg);
  if (alg === 'EdDSA') return { kty: 'OKP', crv: 'Ed25519', x, alg };
  return { kty: 'EC', crv: 'P-256', x, y: y ?? '', alg };
}
