// What an application (a confidential OAuth client) is, and which scopes it may have. No type here has a secret's text.

import type { Principal } from '../../platform/context.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { APPLICATION_SCOPES, isWithin } from '../../platform/scopes.ts';
import type { ApplicationRow } from './application.model.ts';
import type { ApplicationJwk } from './application-jwks.ts';
import type { ApplicationSecretRow } from './secret.model.ts';

/** `grant_type` of a token exchange (RFC 8693 §2.1). */
export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** Grants that an application can be allowed. */
export const GRANT_TYPES = ['client_credentials', TOKEN_EXCHANGE_GRANT] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

/** Name of the error for a refused set of scopes. */
const SCOPES = 'body.scopes';

/** Most secrets that are valid at the same time: two, so that a client can change over. */
export const LIVE_SECRETS = 2;

/** A confidential client as it is stored; `id` is its `client_id`; `audience` null: the tenant's base URL. */
export type Application = Omit<ApplicationRow, 'deletedAt'>;

/** A live secret; only its hash is stored. */
export type ApplicationSecret = Pick<ApplicationSecretRow, 'id' | 'createdAt' | 'expiresAt'>;

/** The agent that an application acts for, as authentication sees it. */
export type LinkedAgent = {
  readonly id: string;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  readonly status: 'active' | 'suspended' | 'deleted';
};

/** The data that decide a token request. `secrets`: SHA-256 of the live secrets. */
export type Client = Pick<Application, 'id' | 'name' | 'audience' | 'scopes' | 'grantTypes'> & {
  readonly secrets: readonly { readonly id: string; readonly hash: Uint8Array }[];
  readonly keys: readonly ApplicationJwk[];
  readonly agent?: LinkedAgent | undefined;
};

/**
 * Checks the scopes of an application.
 * @param agentScopes scopes of the linked agent, if there is one; the application may have no others
 * @throws ServiceError `invalid_request` naming `body.scopes`
 */
export function checkApplicationScopes(
  scopes: readonly string[],
  agentScopes: readonly string[] | undefined,
): void {
  if (scopes.length === 0) throw invalidField(SCOPES, 'must name at least one scope');
  const unknown = scopes.find((scope) => !isWithin([scope], APPLICATION_SCOPES));
  if (unknown !== undefined) throw invalidField(SCOPES, `"${unknown}" is not a scope of this service`);
  const beyond = agentScopes && scopes.find((scope) => !isWithin([scope], agentScopes));
  if (beyond !== undefined) {
    throw invalidField(SCOPES, `"${beyond}" is beyond the scopes of the linked agent`);
  }
}

/**
 * Checks that the grantor has all scopes that it gives to an application.
 * @param grantor gives the scopes; undefined for an operator, who may give all
 * @throws ServiceError `insufficient_scope` naming the scopes that the grantor lacks
 */
export function checkGrantor(
  scopes: readonly string[],
  grantor: Pick<Principal, 'scopes'> | undefined,
): void {
  const lacking = grantor === undefined ? [] : scopes.filter((scope) => !grantor.scopes.includes(scope));
  if (lacking.length === 0) return;
  throw new ServiceError('insufficient_scope', {
    detail: `The application would hold ${lacking.join(' ')}, which the token lacks: nobody can grant more than they hold.`,
  });
}
