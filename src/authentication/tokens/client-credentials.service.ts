// The client credentials grant of the token endpoint. client-authentication.service.ts authenticates the client.

import type { RequestContext } from '../../platform/context.ts';
import { untilUnchanged } from '../../platform/database/until-unchanged.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import { checkProofGiven } from '../dpop/required-proof.ts';
import type { AccessTokenGrant } from './access-token.ts';
import type { AuthenticatedClient, ClientAuthenticationService } from './client-authentication.service.ts';
import { CLIENT_CREDENTIALS, checkTokenRequest, decideGrant } from './client-credentials.ts';
import type { ClientRecordService } from './client-record.service.ts';
import type { IssuedAccessToken, TokenService } from './token.service.ts';
import { answerOf, type GrantRequest, type TokenAnswer } from './token-answer.ts';

/** Errors that are recorded as a failed authentication of a known client. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'invalid_client',
  'unauthorized_client',
  'policy_denied',
  'invalid_scope',
  'invalid_target',
  'invalid_dpop_proof',
]);

type Issue = { readonly grant: AccessTokenGrant; readonly issued: IssuedAccessToken };

export type ClientCredentialsNeeds = {
  clients: Pick<ClientAuthenticationService, 'authenticate' | 'recall' | 'confirm'>;
  tokens: Pick<TokenService, 'issueAccessToken'>;
  clientRecords: Pick<ClientRecordService, 'success' | 'failure'>;
};

/** The client credentials grant (RFC 6749 §4.4). Source: Specification, "Client credentials rules". */
export class ClientCredentialsService extends Service<ClientCredentialsNeeds> {
  /**
   * Answers a token request. A client that this process remembers takes one round trip, which proves the memory and
   * writes audit entries and events. Otherwise one more reads the client. All are shared by concurrent requests. A
   * failure costs the read and the counter; its record is written in the background.
   * @throws ServiceError `invalid_request`, `invalid_client`, `unauthorized_client`, `policy_denied`,
   * `invalid_scope`, `invalid_target`, `rate_limited` instead of `invalid_client` after too many failures,
   * `invalid_dpop_proof`, `use_dpop_nonce`
   */
  grant = async (context: RequestContext, sent: GrantRequest): Promise<TokenAnswer> => {
    checkTokenRequest(sent.parameters);
    const request = { ...sent, proveKey: once(sent.proveKey) };
    const remembered = await this.#issueToRemembered(context, request);
    if (remembered !== undefined) return answerOf(remembered);
    let client = await this.needs.clients.authenticate(context, request);
    return untilUnchanged(async (isRepeated) => {
      if (isRepeated) client = await this.needs.clients.confirm(context, client);
      const token = await this.#recorded(context, client, () => this.#issue(context, client, request));
      const isWritten = await this.needs.clientRecords.success(context, token, client, { waits: true });
      return isWritten ? answerOf(token) : undefined;
    });
  };

  /** Records a refusal to an authenticated client. A request for a nonce is not a failure. */
  #recorded = async <T>(
    context: RequestContext,
    client: AuthenticatedClient,
    work: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServiceError && REFUSALS.has(error.code)) {
        const { id, proof } = client;
        this.needs.clientRecords.failure(context, id, error.code, CLIENT_CREDENTIALS, {
          proof,
          isAuthenticated: true,
        });
      }
      throw error;
    }
  };

  #issue = async (
    context: RequestContext,
    client: AuthenticatedClient,
    request: GrantRequest,
  ): Promise<Issue> => {
    const decided = decideGrant(client, request.parameters, context.tenant.baseUrl);
    const key = await request.proveKey();
    checkProofGiven(key, context.tenant, client, client.agent);
    const grant = { ...decided, jkt: key?.jkt };
    return { grant, issued: await this.needs.tokens.issueAccessToken(context.tenant, grant) };
  };

  /** Issues a token to a client as this process remembers it. @returns undefined when the client has to be read */
  #issueToRemembered = async (context: RequestContext, request: GrantRequest): Promise<Issue | undefined> => {
    const client = this.needs.clients.recall(context, request);
    if (client === undefined) return undefined;
    const token = await this.#issue(context, client, request).catch(ignoreRefusal);
    if (token === undefined) return undefined;
    return (await this.needs.clientRecords.success(context, token, client, { waits: false }))
      ? token
      : undefined;
  };
}

/** A refusal by an outdated memory is no refusal. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof ServiceError)) throw error;
}

/** Makes a function whose first result is that of every call: the proof of a key is used up by its verification. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
}
