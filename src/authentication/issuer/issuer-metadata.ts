// The issuer's metadata document. It names only features that the service has.

import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import { PROOF_ALGORITHMS } from '../dpop/proof-key.ts';
import { ASSERTION_ALGORITHMS, CLIENT_METHODS } from '../tokens/client-method.ts';

/** Authorization server metadata (RFC 8414 §2). */
export type IssuerMetadata = {
  issuer: string;
  token_endpoint: string;
  jwks_uri: string;
  scopes_supported: string[];
  subject_types_supported: string[];
  id_token_signing_alg_values_supported: string[];
  response_types_supported: string[];
  grant_types_supported: string[];
  token_endpoint_auth_methods_supported: string[];
  token_endpoint_auth_signing_alg_values_supported: string[];
  introspection_endpoint: string;
  introspection_endpoint_auth_methods_supported: string[];
  introspection_endpoint_auth_signing_alg_values_supported: string[];
  revocation_endpoint: string;
  revocation_endpoint_auth_methods_supported: string[];
  revocation_endpoint_auth_signing_alg_values_supported: string[];
  userinfo_endpoint: string;
  dpop_signing_alg_values_supported: string[];
};

/**
 * The metadata of an issuer.
 * @param issuerUrl the tenant's `{issuer_url}`, without a slash at its end
 */
export function describeIssuer(issuerUrl: string): IssuerMetadata {
  return {
    issuer: issuerUrl,
    token_endpoint: `${issuerUrl}/oauth/token`,
    jwks_uri: `${issuerUrl}/.well-known/jwks.json`,
    scopes_supported: [...APPLICATION_SCOPES],
    // Required by OpenID Connect Discovery §3. There are no ID tokens; libraries take these for the algorithms of
    // access tokens.
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'EdDSA'],
    // Required by RFC 8414 §2; there is no authorization endpoint, so no response type is supported.
    response_types_supported: [],
    grant_types_supported: ['client_credentials', 'refresh_token', TOKEN_EXCHANGE_GRANT],
    // `none`: an agent's refresh token is exchanged without client authentication.
    token_endpoint_auth_methods_supported: [...CLIENT_METHODS, 'none'],
    token_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    introspection_endpoint: `${issuerUrl}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: [...CLIENT_METHODS],
    introspection_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    revocation_endpoint: `${issuerUrl}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: [...CLIENT_METHODS],
    revocation_endpoint_auth_signing_alg_values_supported: [...ASSERTION_ALGORITHMS],
    userinfo_endpoint: `${issuerUrl}/userinfo`,
    dpop_signing_alg_values_supported: [...PROOF_ALGORITHMS],
  };
}
