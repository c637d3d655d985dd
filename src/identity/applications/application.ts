// Types of applications (confidential OAuth clients), and the rules for their scopes. No type contains the text of a
// secret.

import { invalidField } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import { APPLICATION_SCOPES, areSameScopes, isWithin } from '../../platform/scopes.ts';
import type { AgentRecord } from '../agents/agent.ts';
import type { ApplicationRow } from './application.model.ts';
import { type ApplicationJwk, thumbprintsOf } from './application-jwks.ts';
import type { ApplicationSecretRow } from './secret.model.ts';

/** `grant_type` of a token exchange (RFC 8693 §2.1). */
export const TOKEN_EXCHANGE_GRANT = 'urn:ietf:params:oauth:grant-type:token-exchange';

export const GRANT_TYPES = ['client_credentials', TOKEN_EXCHANGE_GRANT] as const;

const SCOPES = 'body.scopes';

/** Greatest number of live secrets. With two, a client can change to a new secret without an interruption. */
export const LIVE_SECRETS = 2;

/** A stored application. `id` is its `client_id`. `audience` null means the tenant's base URL. */
export type Application = Omit<ApplicationRow, 'deletedAt'>;

/** What decides the tokens that an application can get. */
type Rights = Pick<
  Application,
  'scopes' | 'grantTypes' | 'audience' | 'agentId' | 'jwks' | 'dpopBoundAccessTokens'
>;

/** A live secret. Only its hash is stored. */
export type ApplicationSecret = Pick<ApplicationSecretRow, 'id' | 'createdAt' | 'expiresAt'>;

/** Without an audience, it is the tenant's base URL. */
export type NewApplication = Pick<Application, 'name' | 'scopes'> & Given<Omit<Rights, 'scopes'>>;

export type ApplicationWithSecrets = Application & { readonly secrets: readonly ApplicationSecret[] };
export type CreatedApplication = {
  readonly application: ApplicationWithSecrets;
  readonly clientSecret: string;
};
export type CreatedSecret = { readonly secret: ApplicationSecret; readonly clientSecret: string };

export type LinkedAgent = Pick<
  AgentRecord,
  'id' | 'name' | 'capabilities' | 'scopes' | 'dpopBoundAccessTokens'
> & { readonly status: AgentRecord['status'] | 'deleted' };

/** The data that decide a token request. `secrets` are the SHA-256 hashes of the live secrets. */
export type Client = Pick<
  Application,
  'id' | 'name' | 'audience' | 'scopes' | 'grantTypes' | 'dpopBoundAccessTokens'
> & {
  readonly secrets: readonly { readonly id: string; readonly hash: Uint8Array }[];
  readonly keys: readonly ApplicationJwk[];
  /** A subscription gets the events of its authentication. */
  readonly isHeard: boolean;
  /** Another text after each change of the application, its secrets or its agent. */
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
  if (beyond !== undefined)
    throw invalidField(SCOPES, `"${beyond}" is beyond the scopes of the linked agent`);
}

/** Returns the RFC 7638 thumbprints of the keys that a change adds and removes. */
export function compareKeys(before: Rights['jwks'], after: Rights['jwks'] | undefined) {
  const old = thumbprintsOf(before);
  const young = after === undefined ? old : thumbprintsOf(after);
  return {
    added: young.filter((thumbprint) => !old.includes(thumbprint)),
    removed: old.filter((thumbprint) => !young.includes(thumbprint)),
  };
}

/**
 * Returns whether a change needs all scopes that the application and its agent have before and after it: it adds a
 * grant or a key, replaces audience or agent, waives proofs of a key, or changes the scopes. Taking a scope away needs
 * them too, because it makes the check of the next credential weaker.
 */
export function needsGrantor(
  before: Rights,
  { scopes, grantTypes, jwks, ...change }: Partial<Rights>,
): boolean {
  return (
    change.dpopBoundAccessTokens === false ||
    change.audience !== undefined ||
    change.agentId !== undefined ||
    !areSameScopes(scopes ?? before.scopes, before.scopes) ||
    !isWithin(grantTypes ?? [], before.grantTypes) ||
    compareKeys(before.jwks, jwks).added.length > 0
  );
}

/**
 * Returns whether a change takes away something that an application's tokens were issued for or by, or asks for proofs
 * of a key.
 */
export function narrows(before: Rights, { scopes, grantTypes, jwks, ...change }: Partial<Rights>): boolean {
  return (
    change.dpopBoundAccessTokens === true ||
    change.audience !== undefined ||
    change.agentId !== undefined ||
    !isWithin(before.scopes, scopes ?? before.scopes) ||
    !isWithin(before.grantTypes, grantTypes ?? before.grantTypes) ||
    compareKeys(before.jwks, jwks).removed.length > 0
  );
}
