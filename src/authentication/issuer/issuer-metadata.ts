// The metadata document of an issuer. It lists only features that the service has.

import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import type { Tenant } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import { PROOF_ALGORITHMS } from '../dpop/proof-key.ts';
import { assertionAlgorithmsOf, clientMethodsOf } from '../tokens/client-method.ts';
import { JWT_BEARER_GRANT } from '../tokens/grant-types.ts';
import type { IssuerMetadata } from './issuer.schemas.ts';

/** Path of the authorization endpoint below the issuer's address. */
export const AUTHORIZATION_PATH = '/oauth/authorize';

/** Builds the metadata of a tenant's issuer. */
export function describeIssuer(tenant: Pick<Tenant, 'issuerUrl' | 'securityProfile'>): IssuerMetadata {
  const { issuerUrl, securityProfile } = tenant;
  const methods = clientMethodsOf(tenant);
  const algorithms = assertionAlgorithmsOf(tenant);
  return {
    issuer: issuerUrl,
    // It refuses every request. RFC 8414 §2 permits the member, and clients of the Model Context Protocol demand it.
    // Under the profile `fapi2` it would promise pushed authorization requests (FAPI 2.0 §5.3.2.2).
    ...(securityProfile === 'fapi2' ? {} : { authorization_endpoint: `${issuerUrl}${AUTHORIZATION_PATH}` }),
    token_endpoint: `${issuerUrl}/oauth/token`,
    jwks_uri: `${issuerUrl}/.well-known/jwks.json`,
    scopes_supported: [...APPLICATION_SCOPES],
    // OpenID Connect Discovery §3 requires these members. The service has no ID tokens, but libraries use these
    // algorithms for access tokens.
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'EdDSA'],
    // RFC 8414 §2 requires this member. It is empty because no user is asked.
    response_types_supported: [],
    grant_types_supported: ['client_credentials', 'refresh_token', TOKEN_EXCHANGE_GRANT, JWT_BEARER_GRANT],
    // `none`, because an agent uses its refresh token without client authentication.
    token_endpoint_auth_methods_supported: [...methods, 'none'],
    token_endpoint_auth_signing_alg_values_supported: [...algorithms],
    introspection_endpoint: `${issuerUrl}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: [...methods],
    introspection_endpoint_auth_signing_alg_values_supported: [...algorithms],
    revocation_endpoint: `${issuerUrl}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: [...methods],
    revocation_endpoint_auth_signing_alg_values_supported: [...algorithms],
    userinfo_endpoint: `${issuerUrl}/userinfo`,
    dpop_signing_alg_values_supported: [...PROOF_ALGORITHMS],
  };
}

/** Creates the only answer of the authorization endpoint (RFC 6749 §4.1.2.1). */
export function authorizationRefused(): ServiceError {
  return new ServiceError('unsupported_response_type', {
    detail:
      'This issuer asks no user for consent. Applications use client_credentials at the token endpoint, agents their keys; openapi.json shows both.',
  });
}
