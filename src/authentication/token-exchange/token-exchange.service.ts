// The token exchange grant of the token endpoint: an agent gets a token to act for a user. The new token allows at most
// the rights of the tokens and the delegation from which it is derived, and ends with any of them.
// docs/decisions/0008-token-exchange.md

import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import type { RequestContext } from '../../platform/context.ts';
import { untilUnchanged } from '../../platform/database/until-unchanged.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type {
  AuthenticatedClient,
  ClientAuthenticationService,
} from '../tokens/client-authentication.service.ts';
import { checkGrantAllowed } from '../tokens/client-credentials.ts';
import type { ClientRecordService } from '../tokens/client-record.service.ts';
import { ISSUED_TOKEN_TYPE } from '../tokens/grant-types.ts';
import type { TokenService } from '../tokens/token.service.ts';
import { answerOf, type GrantRequest, type TokenAnswer } from '../tokens/token-answer.ts';
import { checkLinkedAgent, checkPossession } from './exchange.ts';
import { ExchangeBatches, type ExchangeBatchNeeds, METHOD } from './exchange-batch.service.ts';
import { type ExchangePartiesNeeds, ExchangePartiesService } from './exchange-parties.service.ts';
import { type ExchangeRequest, readExchangeRequest } from './exchange-request.ts';

/** Errors that are not recorded as failures, because the client should repeat the request. */
const UNRECORDED: readonly ErrorCode[] = ['use_dpop_nonce', 'temporarily_unavailable'];

export type TokenExchangeNeeds = ExchangePartiesNeeds &
  Omit<ExchangeBatchNeeds, 'now'> & {
    clients: Pick<ClientAuthenticationService, 'authenticate' | 'confirm'>;
    tokens: Pick<TokenService, 'prepareAccessTokens'>;
    clientRecords: Pick<ClientRecordService, 'failure'>;
    now?: (() => number) | undefined;
  };

/**
 * The token exchange grant (RFC 8693), with delegation only. Source: Specification, "Methods": token exchange.
 * @param accessTokenLifetime seconds @param now milliseconds since 1970
 */
export class TokenExchangeService extends Service<TokenExchangeNeeds> {
  readonly #now = this.needs.now ?? Date.now;
  readonly #parties = new ExchangePartiesService(this.needs);
  readonly #batches = new ExchangeBatches({ ...this.needs, now: this.#now });

  /**
   * Exchanges a subject token and an agent's token for a delegated token. Order of the checks: client, its right to
   * this grant, parameters, actor token, subject token, proof of the actor's key; then in one transaction the
   * delegation, its limits, and all revocations. Round trips: 1 to read the client, 1 for the issuer of a foreign
   * token, 1 for a proof, 5 for the transaction, which concurrent requests share.
   * @throws ServiceError `invalid_client`, `unauthorized_client`, `policy_denied` (an agent is suspended),
   * `invalid_request` (parameters, and every fault of a token), `invalid_target`, `invalid_scope`, `invalid_grant`
   * (no delegation, or a revoked one), `delegation_expired`, `invalid_dpop_proof`, `use_dpop_nonce`,
   * `temporarily_unavailable` (keys of the user's issuer)
   */
  grant = async (context: RequestContext, request: GrantRequest): Promise<TokenAnswer> => {
    const client = await this.needs.clients.authenticate(context, request);
    await this.#recorded(context, client, () => checkGrantAllowed(client, TOKEN_EXCHANGE_GRANT));
    const asked = readExchangeRequest(request.parameters);
    return this.#recorded(context, client, () => this.#answer(context, client, asked, request.proveKey));
  };

  #answer = async (
    context: RequestContext,
    client: AuthenticatedClient,
    request: ExchangeRequest,
    proveKey: GrantRequest['proveKey'],
  ): Promise<TokenAnswer> => {
    const { actor, subject } = await this.#parties.read(context, request);
    checkLinkedAgent(client.agent, actor);
    const key = await proveKey();
    checkPossession(actor, key);
    // Prepared before the transaction begins, because a transaction that waits for a second connection could block.
    const issue = await this.needs.tokens.prepareAccessTokens(context.tenant);
    const asked = { context, request, actor, subject, key, issue };
    const exchanged = await untilUnchanged(async (isRepeated) =>
      this.#batches.exchange({
        ...asked,
        client: isRepeated ? await this.#readAgain(context, client, actor) : client,
      }),
    );
    return { ...answerOf(exchanged), issued_token_type: ISSUED_TOKEN_TYPE };
  };

  /** Reads a client that has changed meanwhile, and makes its checks again. */
  #readAgain = async (
    context: RequestContext,
    before: AuthenticatedClient,
    actor: Parameters<typeof checkLinkedAgent>[1],
  ): Promise<AuthenticatedClient> => {
    const client = await this.needs.clients.confirm(context, before);
    checkGrantAllowed(client, TOKEN_EXCHANGE_GRANT);
    checkLinkedAgent(client.agent, actor);
    return client;
  };

  /** Runs a step. When it fails by the client's fault, the failure is recorded in the background. */
  #recorded = async <T>(
    context: RequestContext,
    client: AuthenticatedClient,
    work: () => T | Promise<T>,
  ): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ServiceError && !UNRECORDED.includes(error.code))
        this.needs.clientRecords.failure(context, client.id, error.code, METHOD, {
          proof: client.proof,
          isAuthenticated: true,
        });
      throw error;
    }
  };
}
