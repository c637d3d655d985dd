// The token exchange grant of the token endpoint: an agent gets a token to act for a user. The new token allows at most
// the rights of the tokens and the delegation from which it is derived, and ends with any of them.
// docs/decisions/0008-token-exchange.md

import type { JsonObject } from '../../events/event.ts';
import type { Client } from '../../identity/applications/application.service.ts';
import { TOKEN_EXCHANGE_GRANT } from '../../identity/applications/application.ts';
import { actorsOf } from '../../platform/act.ts';
import type { RequestContext } from '../../platform/context.ts';
import { LONGEST_TOKEN } from '../../platform/crypto/jws.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { parseScope } from '../../platform/scopes.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { Delegation, DelegationService, UsableDelegation } from '../delegations/delegation.service.ts';
import { checkProofGiven } from '../dpop/required-proof.ts';
import { type AccessTokenGrant, scopesOf } from '../tokens/access-token.ts';
import type {
  AuthenticatedClient,
  ClientAuthenticationService,
} from '../tokens/client-authentication.service.ts';
import { checkGrantAllowed } from '../tokens/client-credentials.ts';
import type { ClientRecordService } from '../tokens/client-record.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import { principalsOf } from '../tokens/revocation.ts';
import type { AccessTokenIssuer, IssuedAccessToken, TokenService } from '../tokens/token.service.ts';
import { type GrantRequest, type ProvenKey, type TokenAnswer, tokenTypeOf } from '../tokens/token-answer.ts';
import {
  boundExpiry,
  boundScopes,
  buildDelegatedClaims,
  checkLinkedAgent,
  checkPossession,
  chooseAudience,
  deriveFrom,
  ownLinks,
} from './exchange.ts';
import {
  createExchangePartiesService,
  type ExchangeParties,
  type ExchangePartiesNeeds,
} from './exchange-parties.service.ts';
import { type ExchangeRequest, ISSUED_TOKEN_TYPE, readExchangeRequest } from './exchange-request.ts';

/** Name of this grant in audit entries and events. */
const METHOD = 'token_exchange';

/** Errors that are not recorded as failures, because the client should repeat the request. */
const UNRECORDED: readonly ErrorCode[] = ['use_dpop_nonce', 'temporarily_unavailable'];

/** An exchange with verified tokens and a verified proof. The database decides the rest. */
type Asked = ExchangeParties & {
  readonly client: Client;
  readonly request: ExchangeRequest;
  readonly key: ProvenKey | undefined;
};

export type TokenExchangeNeeds = ExchangePartiesNeeds & {
  database: Pick<Database, 'transaction'>;
  clients: Pick<ClientAuthenticationService, 'authenticate'>;
  tokens: Pick<TokenService, 'prepareAccessTokens'>;
  delegations: Pick<DelegationService, 'findForExchange'>;
  revocations: Pick<RevocationService, 'anyRevoked'>;
  clientRecords: Pick<ClientRecordService, 'failure'>;
  records: Pick<RecordService, 'write'>;
  accessTokenLifetime: number;
  now?: (() => number) | undefined;
};

/**
 * The token exchange grant (RFC 8693), with delegation only. Source: Specification, "Methods": token exchange.
 * @param accessTokenLifetime seconds @param now milliseconds since 1970
 */
export function createTokenExchangeService(needs: TokenExchangeNeeds) {
  const tools = prepareTokenExchange(needs);
  return bindUseCases(tools, { grant });
}

type TokenExchangeTools = ReturnType<typeof prepareTokenExchange>;

function prepareTokenExchange({ now = Date.now, ...needs }: TokenExchangeNeeds) {
  return { ...needs, now, parties: createExchangePartiesService(needs) };
}

/**
 * Exchanges a subject token and an agent's token for a delegated token. Order of the checks: client, its right to
 * this grant, parameters, actor token, subject token, proof of the actor's key; then in one transaction the
 * delegation, its limits, and all revocations. Round trips: 1 to read the client, 1 for the issuer of a foreign
 * token, 1 for a proof, 5 for the transaction.
 * @throws ServiceError `invalid_client`, `unauthorized_client`, `policy_denied` (an agent is suspended),
 * `invalid_request` (parameters, and every fault of a token), `invalid_target`, `invalid_scope`, `invalid_grant`
 * (no delegation, or a revoked one), `delegation_expired`, `invalid_dpop_proof`, `use_dpop_nonce`,
 * `temporarily_unavailable` (keys of the user's issuer)
 */
async function grant(
  needs: TokenExchangeTools,
  context: RequestContext,
  request: GrantRequest,
): Promise<TokenAnswer> {
  const client = await needs.clients.authenticate(context, request);
  await recorded(needs, context, client, () => checkGrantAllowed(client, TOKEN_EXCHANGE_GRANT));
  const asked = readExchangeRequest(request.parameters);
  return recorded(needs, context, client, () => answer(needs, context, client, asked, request.proveKey));
}

/** Called after the delegation is locked, because the lifetime of the token is counted from now. */
function decide(
  { now, accessTokenLifetime }: TokenExchangeTools,
  { tenant }: RequestContext,
  { client, request, actor, subject, key }: Asked,
  { delegation, agent }: UsableDelegation,
): AccessTokenGrant {
  const issuedAt = Math.floor(now() / 1000);
  const { sub, act, delegated_subject } = buildDelegatedClaims(tenant.id, {
    subject,
    actor: { sub: agent.id, agent: { name: agent.name, capabilities: agent.capabilities } },
    older: subject.act,
  });
  const parents = subject.own === undefined ? [actor] : [actor, subject.own];
  const known = [sub, client.id, tenant.id, delegation.id, ...actorsOf(act).map((link) => link.sub)];
  return {
    sub,
    clientId: client.id,
    audience: chooseAudience(request.target, delegation.audience, {
      usual: agent.audience ?? tenant.audience,
      others: agent.audiences,
    }),
    scopes: boundScopes(request.scope, {
      client: client.scopes,
      subject: subject.scopes,
      actor: scopesOf(actor),
      delegation: delegation.scopes,
      agent: agent.scopes,
    }),
    jkt: key?.jkt,
    delegation: {
      delegated_subject,
      act,
      delegation_id: delegation.id,
      derived_from: deriveFrom(
        parents.map((parent) => [parent.jti, ...principalsOf(parent)]),
        known,
      ),
    },
    period: {
      issuedAt,
      expiresAt: boundExpiry({
        issuedAt,
        lifetime: accessTokenLifetime,
        subject: subject.exp,
        actor: actor.exp,
        delegation: delegation.expiresAt.getTime() / 1000,
      }),
    },
  };
}

async function record(
  { records }: TokenExchangeTools,
  unit: Transaction,
  context: RequestContext,
  asked: Asked,
  {
    grant,
    issued,
    delegation,
  }: { grant: AccessTokenGrant; issued: IssuedAccessToken } & {
    delegation: Pick<Delegation, 'id'>;
  },
): Promise<void> {
  const { actor, subject, client } = asked;
  const data: JsonObject = {
    method: METHOD,
    scope: grant.scopes.join(' '),
    audience: grant.audience,
    client_id: client.id,
    delegation_id: delegation.id,
    subject_id: grant.sub,
    actor_token_id: actor.jti,
    ...(subject.own === undefined ? {} : { subject_token_id: subject.own.jti }),
  };
  const agentId = actor.sub;
  const facts: JsonObject = {
    agent_id: agentId,
    token_id: issued.tokenId,
    expires_in: issued.expiresIn,
    actors: actorsOf(grant.delegation?.act).map(({ sub }) => sub),
  };
  await records.write(unit, context, {
    audit: [
      {
        action: 'auth.token.issued',
        outcome: 'success',
        actor: { kind: 'agent', id: agentId },
        target: { type: 'delegation', id: delegation.id },
        tokenId: issued.tokenId,
        data,
      },
    ],
    events: [{ type: 'auth.token.issued', data: { ...data, ...facts } }],
  });
}

/** Issues and records the token in one transaction, unless one of its parents has ended. */
function exchange(
  needs: TokenExchangeTools,
  context: RequestContext,
  asked: Asked,
  issue: AccessTokenIssuer,
) {
  return needs.database.transaction({ tenant: context.tenant }, async (unit) => {
    const { actor, subject, request } = asked;
    const usable = await needs.delegations.findForExchange(unit, context.tenant, {
      subject: { issuer: subject.issuer, sub: subject.sub },
      agentId: actor.sub,
      scopes: request.scope === undefined ? undefined : (parseScope(request.scope) ?? undefined),
      audience: request.target,
      links: ownLinks(subject.act),
    });
    checkProofGiven(asked.key, context.tenant, asked.client, usable.agent);
    const grant = decide(needs, context, asked, usable);
    const { claims, ...issued } = issue(grant);
    if (issued.accessToken.length > LONGEST_TOKEN)
      throw refuse('The token would be too large: the names in its chain of delegation are too long.');
    const sources = subject.own === undefined ? [actor, claims] : [actor, subject.own, claims];
    if (await needs.revocations.anyRevoked(unit, sources))
      throw refuse('A token of this exchange, or an agent in its chain of delegation, was revoked.');
    await record(needs, unit, context, asked, { grant, issued, delegation: usable.delegation });
    return { grant, issued };
  });
}

async function answer(
  needs: TokenExchangeTools,
  context: RequestContext,
  client: Client,
  request: ExchangeRequest,
  proveKey: GrantRequest['proveKey'],
): Promise<TokenAnswer> {
  const { actor, subject } = await needs.parties.read(context, request);
  checkLinkedAgent(client.agent, actor);
  const key = await proveKey();
  checkPossession(actor, key);
  // Prepared before the transaction begins, because a transaction that waits for a second connection could block.
  const issue = await needs.tokens.prepareAccessTokens(context.tenant);
  const { grant, issued } = await exchange(needs, context, { client, request, actor, subject, key }, issue);
  return {
    access_token: issued.accessToken,
    issued_token_type: ISSUED_TOKEN_TYPE,
    token_type: tokenTypeOf(key),
    expires_in: issued.expiresIn,
    scope: grant.scopes.join(' '),
  };
}

/** Runs a step. When it fails by the client's fault, the failure is recorded in the background. */
async function recorded<T>(
  { clientRecords }: TokenExchangeTools,
  context: RequestContext,
  client: AuthenticatedClient,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceError && !UNRECORDED.includes(error.code))
      clientRecords.failure(context, client.id, error.code, METHOD, {
        proof: client.proof,
        isAuthenticated: true,
      });
    throw error;
  }
}

function refuse(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail });
}
