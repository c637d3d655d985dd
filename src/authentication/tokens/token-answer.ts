// Requests and answers of the token endpoint, and the headers of its errors.
import type { RequestContext } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { AccessTokenGrant } from './access-token.ts';
import type { IssuedAccessToken } from './token.service.ts';

/** Parameters of a form request by name. A parameter without a value is absent. */
export type TokenParameters = Readonly<Record<string, string | undefined>>;

/** The RFC 7638 thumbprint of a key that a DPoP proof has proved (RFC 9449 §5). */
export type ProvenKey = { readonly jkt: string };

/** A token request as a grant receives it. */
export type GrantRequest = {
  readonly authorization: string | undefined;
  readonly parameters: TokenParameters;
  /** Returns the thumbprint of the key in the DPoP proof, which is not verified yet; undefined without a proof. */
  readonly proofKey: () => string | undefined;
  /**
   * Verifies the DPoP proof of the request and records its use. A grant calls it once, after all checks that write
   * nothing.
   * @param isKnown a check that only a request with a proof needs, before a use is recorded
   * @returns undefined for a request without a proof @throws ServiceError `invalid_dpop_proof`, `use_dpop_nonce`
   */
  readonly proveKey: (isKnown?: () => Promise<unknown>) => Promise<ProvenKey | undefined>;
};

/** What authenticates a client. `proofKey`: the thumbprint of the proof's key, which is not verified yet. */
export type ClientRequest = Pick<GrantRequest, 'authorization' | 'parameters'> &
  Partial<Pick<GrantRequest, 'proofKey'>>;

/** What an access token was issued for, and the token. */
export type GrantedToken = {
  readonly grant: Pick<AccessTokenGrant, 'scopes' | 'jkt'>;
  readonly issued: Pick<IssuedAccessToken, 'accessToken' | 'expiresIn'>;
};

/** Source: Specification, "Token response"; RFC 6749 §5.1. */
export type TokenAnswer = {
  readonly access_token: string;
  readonly token_type: 'Bearer' | 'DPoP';
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string | undefined;
  /** RFC 8693 §2.2.1. Present only after a token exchange. */
  readonly issued_token_type?: string | undefined;
};

export type Grant = (context: RequestContext, request: GrantRequest) => Promise<TokenAnswer>;

/** The answer with an access token: of the type `DPoP` when it is bound to a key (RFC 9449 §5). */
export function answerOf({ grant: { scopes, jkt }, issued }: GrantedToken): TokenAnswer {
  return {
    access_token: issued.accessToken,
    token_type: jkt === undefined ? 'Bearer' : 'DPoP',
    expires_in: issued.expiresIn,
    scope: scopes.join(' '),
  };
}

/**
 * Adds the headers of token answers to each error of a route that authenticates clients. Adds the challenge to
 * `invalid_client` (RFC 6749 §5.1, §5.2; RFC 7617).
 */
export async function withTokenHeaders<T>(
  { tenant }: Pick<RequestContext, 'tenant'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const challenge = { 'www-authenticate': `Basic realm="${tenant.issuerUrl}", charset="UTF-8"` };
    throw error.withHeaders({
      'cache-control': 'no-store',
      pragma: 'no-cache',
      ...(error.code === 'invalid_client' ? challenge : {}),
    });
  }
}
