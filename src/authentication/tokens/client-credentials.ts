// Rules of the client credentials grant.
import type { Client } from '../../identity/applications/application.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { grantScopes, intersectScopes } from '../../platform/scopes.ts';
import type { AccessTokenGrant } from './access-token.ts';
import type { TokenParameters } from './token-answer.ts';

export const CLIENT_CREDENTIALS = 'client_credentials';

/** @throws ServiceError `invalid_request` with an `audience` (Specification, "Client credentials rules") */
export function checkTokenRequest(parameters: TokenParameters): void {
  if (parameters.audience === undefined) return;
  throw invalidField('body.audience', "comes from the application's configuration: do not send one");
}

/**
 * Decides the scopes and the audience of an authenticated client's token.
 * @param parameters.scope as requested @param parameters.resource must be the application's own audience (RFC 8707)
 * @param baseUrl of the tenant: the audience of an application without its own
 * @throws ServiceError as `checkGrantAllowed`; `invalid_target`, `invalid_scope`
 */
export function decideGrant(
  client: Client,
  { scope, resource }: TokenParameters,
  baseUrl: string,
): AccessTokenGrant {
  const { agent } = client;
  checkGrantAllowed(client, CLIENT_CREDENTIALS);
  const audience = client.audience ?? baseUrl;
  if (resource !== undefined && resource !== audience)
    throw refuse(
      'invalid_target',
      `The resource is not the application's audience, ${audience}, which comes from its configuration.`,
    );
  const allowed = agent === undefined ? client.scopes : intersectScopes(client.scopes, agent.scopes);
  return {
    sub: agent?.id ?? client.id,
    audience,
    scopes: grantScopes(scope, allowed),
    clientId: client.id,
    agent: agent === undefined ? undefined : { name: agent.name, capabilities: agent.capabilities },
  };
}

/**
 * Checks that an authenticated client may use a grant.
 * @throws ServiceError `unauthorized_client` when the grant is not allowed, `policy_denied` when the linked agent is
 *   suspended, `invalid_client` when the linked agent was deleted
 */
export function checkGrantAllowed(client: Client, grantType: string): void {
  checkAgentOf(client);
  if (!client.grantTypes.includes(grantType))
    throw refuse('unauthorized_client', `The application may not use the grant ${grantType}.`);
}

/**
 * Checks that the agent of an authenticated client may act. Otherwise its clients can do nothing.
 * @throws ServiceError `invalid_client` when the agent was deleted, `policy_denied` when it is suspended
 */
export function checkAgentOf({ agent }: Pick<Client, 'agent'>): void {
  if (agent?.status === 'deleted') throw clientRefused();
  if (agent?.status === 'suspended')
    throw refuse('policy_denied', 'The agent of this application is suspended.');
}

/** Creates the error that an unknown client, a client of another tenant and a wrong secret all get. */
export function clientRefused(): ServiceError {
  return refuse('invalid_client', 'Client authentication failed.');
}

function refuse(
  code: 'invalid_client' | 'unauthorized_client' | 'policy_denied' | 'invalid_target',
  detail: string,
): ServiceError {
  return new ServiceError(code, { detail });
}
