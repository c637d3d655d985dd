// Verifies proofs of possession (RFC 9449). A proof is accepted for one request only, even when several processes
// receive it.

import { createHash } from 'node:crypto';
import type { RequestContext, Tenant } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Use } from '../../platform/database/used-once.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import * as store from './dpop.store.ts';
import { createDpopNonces } from './dpop-nonce.ts';
import { ProofVerifier } from './dpop-proof.service.ts';
import { checkProof, expiryOf, onlyProof, parseProof } from './dpop-proof.ts';
import { invalidProof } from './invalid-proof.ts';

export type ProofUse = {
  /** All `DPoP` headers as they were sent, because Node joins them into one text, which hides their number. */
  readonly proofs: readonly string[];
  readonly method: string;
  /** Path of the request below the tenant's address, unchanged, without the query. */
  readonly path: string;
  /** Access token of the request, and the thumbprint in its `cnf.jkt`. Absent at the routes that issue tokens. */
  readonly accessToken?: { readonly text: string; readonly jkt: string } | undefined;
};

/** `jkt` is the RFC 7638 thumbprint of the proof's key. `nonce` is the value for the answer's `DPoP-Nonce` header. */
export type VerifiedProof = { readonly jkt: string; readonly nonce: string };

/** A proof whose use is not recorded yet. */
export type ExaminedProof = VerifiedProof & { readonly consume: () => Promise<void> };

/** Verifies DPoP proofs. @param now milliseconds since 1970 */
export class DpopService extends Service<{
  database: Pick<Database, 'query'>;
  masterKeys: readonly { readonly key: Uint8Array }[];
  now?: (() => number) | undefined;
}> {
  readonly #now = this.needs.now ?? Date.now;
  readonly #isFirstUse = store.openUses(this.needs.database);
  readonly #verifier = new ProofVerifier();
  readonly #nonces = createDpopNonces({ masterKeys: this.needs.masterKeys });

  /**
   * Verifies the proof of a request as `verifyProof` does, but leaves the check and record of its `jti` to `consume`,
   * so that a request that other checks refuse leaves no row.
   * @throws ServiceError as `verifyProof`, and so does `consume`, which records the use once, however often it is
   *   called
   */
  examineProof = (context: Pick<RequestContext, 'tenant'>, use: ProofUse): ExaminedProof => {
    const nonce = this.#nonces.issue(context.tenant.id, this.#now());
    let used: Promise<void> | undefined;
    try {
      const examined = this.#examine(context, use);
      const consumeOnce = () => {
        used ??= this.#consume(examined.use).catch((error: unknown) => {
          throw withNonce(error, nonce);
        });
        return used;
      };
      return { jkt: examined.jkt, nonce, consume: consumeOnce };
    } catch (error) {
      throw withNonce(error, nonce);
    }
  };

  /**
   * Verifies the proof of a request and records its use. One round trip, after all other checks. Order (RFC 9449
   * §4.3): one header; length, form, `typ`, `alg`, `crit`, `jwk`, claims; `htm`, `htu`, `iat`; with a token, `ath`
   * and its key; the signature; the nonce; the `jti`. `htu` is compared with the tenant's address and the path, not
   * with the Host header.
   * @throws ServiceError `invalid_dpop_proof`, `use_dpop_nonce`, `temporarily_unavailable`, each with the header
   * `dpop-nonce`. The status is 400, as at the token endpoint. Routes that accept access tokens change it to 401 with
   * a challenge.
   */
  verifyProof = async (context: Pick<RequestContext, 'tenant'>, use: ProofUse): Promise<VerifiedProof> => {
    const { jkt, nonce, consume } = this.examineProof(context, use);
    await consume();
    return { jkt, nonce };
  };

  /** Returns the value of `DPoP-Nonce` for an answer without a verified proof. */
  nonce = (tenant: Pick<Tenant, 'id'>): string => this.#nonces.issue(tenant.id, this.#now());

  /** Makes all checks but that of the `jti`. @returns what is recorded of the proof's use */
  #examine = ({ tenant }: Pick<RequestContext, 'tenant'>, use: ProofUse) => {
    const { method, path, accessToken } = use;
    const time = this.#now();
    const proof = parseProof(onlyProof(use.proofs));
    checkProof(proof, {
      method,
      url: tenant.baseUrl + path,
      now: time,
      resumedAt: tenant.resumedAt,
      accessToken,
    });
    this.#verifier.verify(proof);
    const { claims, key } = proof;
    if (claims.nonce === undefined || !this.#nonces.isRecent(tenant.id, claims.nonce, time))
      throw new ServiceError('use_dpop_nonce', { detail: NONCE_WANTED });
    return {
      jkt: key.thumbprint,
      use: {
        owner: Buffer.from(key.thumbprint, 'base64url'),
        hash: createHash('sha256').update(claims.jti).digest(),
        expiresAt: expiryOf(claims),
      },
    };
  };

  #consume = async (use: Use): Promise<void> => {
    if (!(await this.#isFirstUse(use)))
      throw invalidProof('The DPoP proof was used before; each request needs a proof of its own.');
  };
}

const NONCE_WANTED = 'The proof needs the nonce that the DPoP-Nonce header of this answer holds.';

function withNonce(error: unknown, nonce: string): unknown {
  return error instanceof ServiceError ? error.withHeaders({ 'dpop-nonce': nonce }) : error;
}
