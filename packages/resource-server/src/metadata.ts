// Protected resource metadata (RFC 9728): from it a client learns which issuer gives tokens for this server.
import { PROOF_ALGORITHMS } from './proof.ts';
import type { GuardAnswer } from './refusal.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/** Further members of RFC 9728 §2, such as `scopes_supported`, `resource_name` and `resource_documentation`. */
export type MetadataMembers = { readonly scopes_supported?: readonly string[] } & Readonly<
  Record<string, unknown>
>;

/**
 * @returns the path of the metadata, and its address: inserted between host and path of the resource (RFC 9728 §3.1)
 */
export function locateMetadata(resource: string): { path: string; url: string } {
  const { origin, pathname } = new URL(resource);
  const path = WELL_KNOWN + (pathname === '/' ? '' : pathname);
  return { path, url: origin + path };
}

export function describeResource(
  { resource, issuer, requiresProof }: { resource: string; issuer: string; requiresProof: boolean },
  members: MetadataMembers,
): Readonly<Record<string, unknown>> {
  return {
    resource,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: PROOF_ALGORITHMS,
    ...(requiresProof ? { dpop_bound_access_tokens_required: true } : {}),
    ...members,
  };
}

/** The answer with the metadata. Pages of other origins may read it: it is public, and MCP clients run in browsers. */
export function answerMetadata(document: Readonly<Record<string, unknown>>): GuardAnswer {
  return {
    status: 200,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'public, max-age=300',
      'access-control-allow-origin': '*',
    },
    body: JSON.stringify(document),
  };
}
