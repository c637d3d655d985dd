// Builds the introspection answers for active tokens (RFC 7662 §2.2).
import type { Tenant } from '../../platform/context.ts';
import { intersectScopes } from '../../platform/scopes.ts';
import type { SignedClaims } from './access-token.ts';
import type { StoredRefreshToken } from './refresh-token.ts';

export const INACTIVE = { active: false } as const;

/** Builds the answer for an access token: its claims and its token type. */
export function describeAccessToken({ signedBy: _, ...claims }: SignedClaims) {
  return { active: true, token_type: claims.cnf === undefined ? 'Bearer' : 'DPoP', ...claims } as const;
}

/** Builds the answer for a refresh token: with the scopes that it still gets. `exp` is the end of its family. */
export function describeRefreshToken(token: StoredRefreshToken, { issuerUrl }: Pick<Tenant, 'issuerUrl'>) {
  const { agent, jkt } = token;
  return {
    active: true,
    iss: issuerUrl,
    sub: agent.id,
    aud: token.audience,
    client_id: token.clientId,
    scope: intersectScopes(token.scopes, agent.scopes).join(' '),
    exp: Math.floor(token.familyExpiresAt.getTime() / 1000),
    iat: Math.floor(token.createdAt.getTime() / 1000),
    subject_type: 'agent',
    agent: { name: agent.name, capabilities: [...agent.capabilities] },
    tenant_id: token.tenantId,
    ...(jkt === null ? {} : { cnf: { jkt } }),
  } as const;
}
