// The token endpoint: chooses the grant of a request by its `grant_type`.

import type { RequestContext } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { DpopService } from '../dpop/dpop.service.ts';
import { parseProof } from '../dpop/dpop-proof.ts';
import {
  type Grant,
  type GrantRequest,
  type TokenAnswer,
  type TokenParameters,
  withTokenHeaders,
} from './token-answer.ts';

/** Path of the token endpoint below the issuer's address. */
export const TOKEN_PATH = '/oauth/token';

export type TokenRequest = {
  readonly authorization: string | undefined;
  readonly parameters: TokenParameters;
  /** All `DPoP` headers as they were sent. */
  readonly proofs?: readonly string[] | undefined;
};

/** `nonce` is the value of the header `DPoP-Nonce`, when the request had a proof (RFC 9449 §8.2). */
export type TokenResponse = { readonly answer: TokenAnswer; readonly nonce: string | undefined };

export type TokenEndpointNeeds = {
  /** The grants by their `grant_type`. */
  grants: ReadonlyMap<string, Grant>;
  dpop: Pick<DpopService, 'examineProof' | 'nonce'>;
};

export class TokenEndpointService extends Service<TokenEndpointNeeds> {
  /**
   * Answers a token request (RFC 6749 §3.2).
   * @throws ServiceError `unsupported_grant_type`, and the errors of the grant
   */
  requestToken = (context: RequestContext, request: TokenRequest): Promise<TokenResponse> =>
    withTokenHeaders(context, async () => {
      const { authorization, parameters, proofs = [] } = request;
      const grant = this.needs.grants.get(parameters.grant_type ?? '');
      if (grant === undefined)
        throw new ServiceError('unsupported_grant_type', {
          detail: `The grant_type must be one of ${[...this.needs.grants.keys()].join(', ')}.`,
        });
      let nonce: string | undefined;
      const proveKey: GrantRequest['proveKey'] = async (isKnown) => {
        if (proofs.length === 0) return undefined;
        const proof = { proofs, method: 'POST', path: TOKEN_PATH };
        const examined = this.needs.dpop.examineProof(context, proof);
        await isKnown?.();
        await examined.consume();
        nonce = examined.nonce;
        return { jkt: examined.jkt };
      };
      try {
        const proofKey = () => peekProofKey(proofs);
        const answer = await grant(context, { authorization, parameters, proofKey, proveKey });
        return { answer, nonce };
      } catch (error) {
        // A client that uses proofs, or has to use them, gets the nonce for its next proof (RFC 9449 §8.2).
        const isWanted =
          proofs.length > 0 || (error instanceof ServiceError && error.code === 'invalid_dpop_proof');
        if (!isWanted || !(error instanceof ServiceError)) throw error;
        throw error.withHeaders({ 'dpop-nonce': nonce ?? this.needs.dpop.nonce(context.tenant) });
      }
    });
}

/** Reads the key of a proof that is verified later; undefined without a proof, and for one that will be refused. */
function peekProofKey([proof]: readonly string[]): string | undefined {
  if (proof === undefined) return undefined;
  try {
    return parseProof(proof).key.thumbprint;
  } catch {
    return undefined;
  }
}
