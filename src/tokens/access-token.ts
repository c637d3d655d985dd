// What an access token says, and when what it says is acceptable. It must never sign, or check a signature.
import { z } from 'zod';
import type { Principal, Tenant } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';

/** `typ` of the header (RFC 9068 §2.1). */
export const ACCESS_TOKEN_TYPE = 'at+jwt';

/** The agent as its tokens describe it. */
export type AgentClaim = { readonly name: string; readonly capabilities: readonly string[] };

/** What a token is issued for. `sub` is the agent's id, or the application's when no agent is linked to it. */
export type AccessTokenGrant = {
  readonly sub: string;
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly clientId: string;
  readonly agent?: AgentClaim | undefined;
  /** RFC 7638 thumbprint of the key that the token is bound to (RFC 9449 §6). */
  readonly jkt?: string | undefined;
};

const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string(),
  aud: z.string(),
  exp: z.number(),
  iat: z.number(),
  jti: z.string(),
  scope: z.string(),
  client_id: z.string(),
  subject_type: z.string(),
  agent: z.object({ name: z.string(), capabilities: z.array(z.string()) }).optional(),
  tenant_id: z.string(),
  cnf: z.object({ jkt: z.string() }).optional(),
});

/** The claims of an access token; `exp` and `iat` are Unix seconds. Source: Specification, "Agent access token claims". */
export type AccessTokenClaims = z.output<typeof claimsSchema>;

/**
 * Builds the claims of a token.
 * @param given.issuedAt Unix seconds @param given.lifetime seconds @param given.tokenId UUID, the `jti`
 */
export function buildAccessTokenClaims(
  tenant: Pick<Tenant, 'id' | 'issuerUrl'>,
  grant: AccessTokenGrant,
  given: { tokenId: string; issuedAt: number; lifetime: number },
): AccessTokenClaims {
  const { agent, jkt } = grant;
  return {
    iss: tenant.issuerUrl,
    sub: grant.sub,
    aud: grant.audience,
    exp: given.issuedAt + given.lifetime,
    iat: given.issuedAt,
    jti: given.tokenId,
    scope: grant.scopes.join(' '),
    client_id: grant.clientId,
    subject_type: 'agent',
    ...(agent === undefined ? {} : { agent: { name: agent.name, capabilities: [...agent.capabilities] } }),
    tenant_id: tenant.id,
    ...(jkt === undefined ? {} : { cnf: { jkt } }),
  };
}

/** The claims of a verified payload; undefined when it does not have the shape of an access token. */
export function readAccessTokenClaims(payload: unknown): AccessTokenClaims | undefined {
  return claimsSchema.safeParse(payload).data;
}

/**
 * Decides whether verified claims are of a living token of this tenant. `exp` has no leeway.
 * @param now milliseconds since 1970
 * @throws ServiceError `invalid_token` for another issuer, tenant or kind of subject; `token_expired`
 */
export function checkIssued(claims: AccessTokenClaims, tenant: Tenant, now: number): void {
  if (claims.iss !== tenant.issuerUrl || claims.tenant_id !== tenant.id || claims.subject_type !== 'agent') {
    throw new ServiceError('invalid_token', { detail: 'The access token is not one of this tenant.' });
  }
  if (claims.exp * 1000 <= now) {
    throw new ServiceError('token_expired', { detail: 'The access token has expired.' });
  }
}

/** How a token is presented: `dpop` with a proof of its key; `anyAudience` where it only has to be of this issuer. */
export type Presentation = {
  readonly scheme?: 'bearer' | 'dpop' | undefined;
  readonly anyAudience?: boolean | undefined;
};

/**
 * Decides whether verified claims are good for the service's own routes. With the scheme `dpop` the proof is still to be verified.
 * @throws ServiceError as `checkIssued`; `invalid_token` for a sender-constrained token as plain bearer, and for another with a proof; `insufficient_scope` for another audience
 *   than the tenant's base URL or audience
 */
export function checkAccessToken(
  claims: AccessTokenClaims,
  tenant: Tenant,
  now: number,
  { scheme = 'bearer', anyAudience = false }: Presentation = {},
): void {
  checkIssued(claims, tenant, now);
  if (claims.cnf !== undefined && scheme === 'bearer') {
    throw new ServiceError('invalid_token', {
      detail: 'The access token is bound to a key and must not be used as a plain bearer token.',
    });
  }
  if (claims.cnf === undefined && scheme === 'dpop') {
    throw new ServiceError('invalid_token', { detail: 'The access token is not bound to a key.' });
  }
  if (!anyAudience && claims.aud !== tenant.baseUrl && claims.aud !== tenant.audience) {
    throw new ServiceError('insufficient_scope', {
      detail: 'The access token is meant for another audience.',
    });
  }
}

/** Who holds the token. A token whose subject is not its client is an agent's. */
export function principalOf(claims: AccessTokenClaims): Principal {
  const isAgent = claims.sub !== claims.client_id;
  return {
    kind: isAgent ? 'agent' : 'application',
    subject: claims.sub,
    clientId: claims.client_id,
    agentId: isAgent ? claims.sub : undefined,
    tokenId: claims.jti,
    scopes: claims.scope.split(' ').filter((scope) => scope !== ''),
    ...(claims.cnf === undefined ? {} : { jkt: claims.cnf.jkt }),
  };
}
