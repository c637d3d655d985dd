// The claims of access tokens, and the checks of verified claims. Other files sign and verify tokens.
import { z } from 'zod';
import type { Act } from '../../platform/act.ts';
import type { Principal, Tenant } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';

/** `typ` of the header (RFC 9068 §2.1). */
export const ACCESS_TOKEN_TYPE = 'at+jwt';

export type AgentClaim = { readonly name: string; readonly capabilities: readonly string[] };

/** The additional claims of a delegated token (RFC 8693 §4.1). */
export type DelegationClaims = {
  /** The user for whom the agent acts, as named by the user's own issuer. */
  readonly delegated_subject: { readonly iss: string; readonly sub: string };
  readonly act: Act;
  readonly delegation_id: string;
  /** Ids of tokens (`jti`), delegations and applications. The token ends when one of them ends. */
  readonly derived_from: readonly string[];
};

/** `sub` is the agent, or the application without a linked agent. In a delegated token it is the user's UUID. */
export type AccessTokenGrant = {
  readonly sub: string;
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly clientId: string;
  readonly agent?: AgentClaim | undefined;
  /** RFC 7638 thumbprint of the key to which the token is bound (RFC 9449 §6). */
  readonly jkt?: string | undefined;
  readonly delegation?: DelegationClaims | undefined;
  /** Unix seconds. When absent, the token begins now and has the usual lifetime. */
  readonly period?: { readonly issuedAt: number; readonly expiresAt: number } | undefined;
};

const agentSchema = z.object({ name: z.string(), capabilities: z.array(z.string()) });

/** The claim `act` (RFC 8693 §4.1), which may contain an earlier `act`. */
const actSchema: z.ZodType<Act> = z
  .object({
    sub: z.string(),
    iss: z.string().optional().describe('When it is not the issuer of this token'),
    agent: agentSchema.optional(),
    get act() {
      return actSchema.optional();
    },
  })
  .meta({ id: 'Act' });

/** Claims that only delegated tokens have. A token has all of them or none. */
export const delegationClaims = {
  act: actSchema.optional(),
  delegated_subject: z.object({ iss: z.string(), sub: z.string() }).optional(),
  delegation_id: z.string().optional(),
  derived_from: z.array(z.string()).readonly().optional(),
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
  agent: agentSchema.optional(),
  tenant_id: z.string(),
  cnf: z.object({ jkt: z.string() }).optional(),
  ...delegationClaims,
});

/** `exp` and `iat` are Unix seconds. Source: Specification, "Agent access token claims". */
export type AccessTokenClaims = z.output<typeof claimsSchema>;

/** The claims of a token whose signature was verified, and the id of the issuer key that signed it. */
export type SignedClaims = AccessTokenClaims & { readonly signedBy: string };

/**
 * Builds the claims of a token.
 * @param given.issuedAt Unix seconds @param given.lifetime seconds @param given.tokenId UUID, the `jti`
 */
export function buildAccessTokenClaims(
  tenant: Pick<Tenant, 'id' | 'issuerUrl'>,
  grant: AccessTokenGrant,
  given: { tokenId: string; issuedAt: number; lifetime: number },
): AccessTokenClaims {
  const { agent, jkt, delegation, period } = grant;
  const { issuedAt: iat, expiresAt: exp } = period ?? {
    issuedAt: given.issuedAt,
    expiresAt: given.issuedAt + given.lifetime,
  };
  return {
    iss: tenant.issuerUrl,
    sub: grant.sub,
    aud: grant.audience,
    exp,
    iat,
    jti: given.tokenId,
    scope: grant.scopes.join(' '),
    client_id: grant.clientId,
    subject_type: 'agent',
    ...(agent === undefined ? {} : { agent: { name: agent.name, capabilities: [...agent.capabilities] } }),
    tenant_id: tenant.id,
    ...(jkt === undefined ? {} : { cnf: { jkt } }),
    ...delegation,
  };
}

/** Parses the claims of a verified payload; undefined when they are not those of an access token. */
export function readAccessTokenClaims(payload: unknown): AccessTokenClaims | undefined {
  return claimsSchema.safeParse(payload).data;
}

/**
 * Checks that verified claims belong to a token of this tenant that has not expired. `exp` has no leeway.
 * @param now milliseconds since 1970
 * @throws ServiceError `invalid_token` for another issuer, another tenant or another kind of subject, and under a
 *   security
 * profile for a token that is bound to no key; `token_expired`
 */
export function checkIssued(claims: AccessTokenClaims, tenant: Tenant, now: number): void {
  if (claims.iss !== tenant.issuerUrl || claims.tenant_id !== tenant.id || claims.subject_type !== 'agent')
    throw new ServiceError('invalid_token', { detail: 'The access token is not one of this tenant.' });
  if (tenant.securityProfile !== undefined && claims.cnf === undefined)
    throw new ServiceError('invalid_token', {
      detail: `The access token is bound to no key, and the tenant's security profile is ${tenant.securityProfile}.`,
    });
  if (claims.exp * 1000 <= now)
    throw new ServiceError('token_expired', { detail: 'The access token has expired.' });
}

/**
 * How a token is presented. `dpop`: with a proof of its key. `anyAudience`: the route accepts every audience of this
 * issuer. `delegated`: the route accepts delegated tokens.
 */
export type Presentation = {
  readonly scheme?: 'bearer' | 'dpop' | undefined;
  readonly anyAudience?: boolean | undefined;
  readonly delegated?: boolean | undefined;
};

/**
 * Checks that the service's own routes accept the verified claims. With the scheme `dpop`, the caller must also verify
 * the proof.
 * @throws ServiceError as `checkIssued`; `invalid_token` when a token that is bound to a key comes without a proof, or
 * an unbound token with a proof; `insufficient_scope` for an audience other than the tenant's base URL or audience, and
 * for a delegated token
 */
export function checkAccessToken(
  claims: AccessTokenClaims,
  tenant: Tenant,
  now: number,
  { scheme = 'bearer', anyAudience = false, delegated = false }: Presentation = {},
): void {
  checkIssued(claims, tenant, now);
  if (claims.cnf !== undefined && scheme === 'bearer')
    throw new ServiceError('invalid_token', {
      detail: 'The access token is bound to a key and must not be used as a plain bearer token.',
    });
  if (claims.cnf === undefined && scheme === 'dpop')
    throw new ServiceError('invalid_token', { detail: 'The access token is not bound to a key.' });
  if (!anyAudience && claims.aud !== tenant.baseUrl && claims.aud !== tenant.audience)
    throw new ServiceError('insufficient_scope', {
      detail: 'The access token is meant for another audience.',
    });
  if (!delegated && claims.act !== undefined)
    throw new ServiceError('insufficient_scope', {
      detail: 'An agent that acts for somebody else may not do this: use its own access token.',
    });
}

/** Returns the agent if the subject is not the client. In a delegated token this is the agent that acts now. */
export function principalOf(claims: AccessTokenClaims): Principal {
  const { act, delegated_subject: subject } = claims;
  const agentId = act?.sub ?? (claims.sub === claims.client_id ? undefined : claims.sub);
  return {
    kind: agentId === undefined ? 'application' : 'agent',
    subject: claims.sub,
    clientId: claims.client_id,
    agentId,
    tokenId: claims.jti,
    scopes: scopesOf(claims),
    ...(claims.cnf === undefined ? {} : { jkt: claims.cnf.jkt }),
    ...(act === undefined || subject === undefined ? {} : { delegated: { subject, act } }),
  };
}

export function scopesOf({ scope }: Pick<AccessTokenClaims, 'scope'>): string[] {
  return scope.split(' ').filter((name) => name !== '');
}
