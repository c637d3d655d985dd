// What an application (a confidential OAuth client) is, and what it may hold. It must never see a secret, only its hash.
import { invalidField } from '../errors/service-error.ts';
import { APPLICATION_SCOPES, isWithin } from '../tokens/scope.ts';
import type { ApplicationJwk, ApplicationJwks } from './application-jwks.ts';

/** Grants that an application can be allowed. */
export const GRANT_TYPES = ['client_credentials'] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

/** Secrets that may be valid at the same time, so that a client can change over. */
export const LIVE_SECRETS = 2;

/** A confidential client as it is stored; `id` is its `client_id`, `audience` null follows the tenant's base URL. */
export type Application = {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly audience: string | null;
  readonly scopes: readonly string[];
  readonly grantTypes: readonly string[];
  readonly agentId: string | null;
  /** Keys with which it may authenticate besides its secrets. */
  readonly jwks: ApplicationJwks | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
};

/** A live secret; only its hash is stored. */
export type ApplicationSecret = {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
};

/** The agent that an application acts for, as authentication sees it. */
export type LinkedAgent = {
  readonly id: string;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  readonly status: 'active' | 'suspended' | 'deleted';
};

/** Everything that deciding a token request needs. `secretHashes`: SHA-256, the live ones only. */
export type Client = Pick<Application, 'id' | 'name' | 'audience' | 'scopes' | 'grantTypes'> & {
  readonly secretHashes: readonly Uint8Array[];
  readonly keys: readonly ApplicationJwk[];
  readonly agent?: LinkedAgent | undefined;
};

/**
 * Checks what an application would hold.
 * @param agentScopes scopes of the linked agent, when there is one: nothing beyond them may be held
 * @throws ServiceError `invalid_request` naming `scopes`
 */
export function checkApplicationScopes(
  scopes: readonly string[],
  agentScopes: readonly string[] | undefined,
): void {
  if (scopes.length === 0) throw invalidField('scopes', 'must name at least one scope');
  const unknown = scopes.find((scope) => !isWithin([scope], APPLICATION_SCOPES));
  if (unknown !== undefined) throw invalidField('scopes', `"${unknown}" is not a scope of this service`);
  const beyond = agentScopes && scopes.find((scope) => !isWithin([scope], agentScopes));
  if (beyond !== undefined) {
    throw invalidField('scopes', `"${beyond}" is beyond the scopes of the linked agent`);
  }
}
