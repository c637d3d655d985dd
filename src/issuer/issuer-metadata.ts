// The issuer's metadata document. It must never name what the service does not do.
import { APPLICATION_SCOPES } from '../tokens/scope.ts';

/** Authorization server metadata (RFC 8414 §2). */
export type IssuerMetadata = {
  issuer: string;
  token_endpoint: string;
  jwks_uri: string;
  scopes_supported: string[];
  response_types_supported: string[];
  grant_types_supported: string[];
  token_endpoint_auth_methods_supported: string[];
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
    // Required by RFC 8414 §2; there is no authorization endpoint, so no response type is supported.
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
  };
}
