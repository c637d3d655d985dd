// Types of applications (confidential OAuth clients), and the rules for their scopes. No type contains the text of a
// secret.

import type { Principal } from '../../platform/context.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { APPLICATION_SCOPES, isWithin } from '../../platform/scopes.ts';
import type { ApplicationRow } from './application.model.ts';
import type { ApplicationJwk } from './application-jwks.ts';
import type { ApplicationSecretRow } from './secret.model.ts';

/** `grant_type` of a token exchange (RFC 8693 §2.1). */
export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';

export const GRANT_TYPES = ['client_credentials', TOKEN_EXCHANGE_GRANT] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

const SCOPES = 'body.scopes';

/** Greatest number of live secrets. With two, a client can change to a new secret without an interruption. */
export const LIVE_SECRETS = 2;

/** A stored application. `id` is its `client_id`. `audience` null means the tenant's base URL. */
export type Application = Omit<ApplicationRow, 'deletedAt'>;

/** A live secret. Only its hash is stored. */
export type ApplicationSecret = Pick<ApplicationSecretRow, 'id' | 'createdAt' | 'expiresAt'>;

export type LinkedAgent = {
  readonly id: string;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly scopes: readonly string[];
  readonly status: 'active' | 'suspended' | 'deleted';
};

/** The data that decide a token request. `secrets` are the SHA-256 hashes of the live secrets. */
export type Client = Pick<Application, 'id' | 'name' | 'audience' | 'scopes' | 'grantTypes'> & {
  readonly secrets: readonly { readonly id: string; readonly hash: Uint8Array }[];
  readonly keys: readonly ApplicationJwk[];
  /** A subscription gets the events of its authentication. */
  readonly isHeard: boolean;
  /** Another text after each change of the application or its agent, but not after a change of its secrets. */
  readonly version: string;
  readonly agent?: LinkedAgent | undefined;
};

/**
 * SQL of a client's version, for the rows `application` and `agent`: the transactions that wrote them last (`xmin`).
 */
export const CLIENT_VERSION = "concat_ws('.', application.xmin, agent.xmin)";

/**
 * Checks the scopes of an application.
 * @param agentScopes scopes of the linked agent, if there is one; the application must not have others
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
 * Checks that the grantor itself has all scopes that it gives to an application.
 * @param grantor principal that gives the scopes; undefined for an operator, who may give all scopes
 * @throws ServiceError `insufficient_scope` naming the missing scopes
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
