// The metadata of the service's own protected routes (RFC 9728). They are one resource, whose identifier is the
// tenant's address: tokens are for the tenant, not for a route.
import { APPLICATION_SCOPES } from '../../platform/scopes.ts';
import { PROOF_ALGORITHMS } from '../dpop/proof-key.ts';
import type { ResourceMetadata } from '../issuer/issuer.schemas.ts';

/** The path below the tenant's address, and what RFC 9728 §3.1 inserts between host and path of a resource. */
export const RESOURCE_METADATA_PATH = '/.well-known/oauth-protected-resource';

/** Builds the metadata. @param issuerUrl the tenant's issuer URL, without a slash at the end */
export function describeResource(issuerUrl: string): ResourceMetadata {
  return {
    resource: issuerUrl,
    authorization_servers: [issuerUrl],
    scopes_supported: [...APPLICATION_SCOPES],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: [...PROOF_ALGORITHMS],
  };
}

/** Returns the address of the metadata, which challenges name (RFC 9728 §5.1). */
export function resourceMetadataUrl(issuerUrl: string): string {
  const { origin, pathname } = new URL(issuerUrl);
  return `${origin}${RESOURCE_METADATA_PATH}${pathname === '/' ? '' : pathname}`;
}
