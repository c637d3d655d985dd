// What introspection answers for a living token (RFC 7662 §2.2).
import type { Tenant } from '../../platform/context.ts';
import type { SignedClaims } from './access-token.ts';
import type { StoredRefreshToken } from './refresh-token.ts';

export const INACTIVE = { active: false } as const;

/** An access token as an introspection answer: its claims, and how it is used. */
export function describeAccessToken({ signedBy: _, ...claims }: SignedClaims) {
  return { active: true, token_type: claims.cnf === undefined ? 'Bearer' : 'DPoP', ...claims } as const;
}

/** A refresh token as an introspection answer; `exp` is the end of its family. */
export function describeRefreshToken(token: StoredRefreshToken, { issuerUrl }: Pick<Tenant, 'issuerUrl'>) {
  const { agent, jkt } = token;
  return {
    active: true,
    iss: issuerUrl,
    sub: agent.id,
    aud: token.audience,
    client_id: token.clientId,
    scope: token.scopes.join(' '),
    exp: Math.floor(token.familyExpiresAt.getTime() / 1000),
    iat: Math.floor(token.createdAt.getTime() / 1000),
    subject_type: 'agent',
    agent: { name: agent.name, capabilities: [...agent.capabilities] },
    tenant_id: token.tenantId,
    ...(jkt === null ? {} : { cnf: { jkt } }),
  } as const;
}
