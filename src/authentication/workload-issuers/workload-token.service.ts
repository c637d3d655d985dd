// The jwt-bearer grant of the token endpoint: a workload gets a token for an agent by an assertion of its platform.
// docs/decisions/0030-workload-issuers.md

import { compactVerify, type JWTPayload } from 'jose';
import type { JsonObject } from '../../events/event.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import { type AgentRecord, chooseAudience, describeNoTarget } from '../../identity/agents/agent.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { ErrorCode } from '../../platform/errors/catalogue.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { grantScopes } from '../../platform/scopes.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import { checkProofGiven } from '../dpop/required-proof.ts';
import type { AccessTokenGrant } from '../tokens/access-token.ts';
import { digestOfRequest } from '../tokens/repeated-request.node.ts';
import type { AccessTokenIssuer, IssuedAccessToken, TokenService } from '../tokens/token.service.ts';
import {
  answerOf,
  type GrantRequest,
  type ProvenKey,
  type TokenAnswer,
  type TokenParameters,
} from '../tokens/token-answer.ts';
import {
  type IssuerKeyFinder,
  peekClaims,
  refuseToken,
} from '../trusted-issuers/issuer-key-finder.service.ts';
import { SUBJECT_TOKEN_ALGORITHMS } from '../trusted-issuers/jwk-set.ts';
import { findRule } from './claim-rules.ts';
import { METHOD, readAssertion, refused, type WorkloadAssertion } from './workload-assertion.ts';
import type { WorkloadFailureService } from './workload-failure.service.ts';
import * as store from './workload-issuer.store.ts';
import { isWorkloadIssuer, trustDomainOf, type WorkloadIssuer } from './workload-issuer.ts';

/** Errors that are not recorded as failures, because the workload should repeat the request. */
const UNRECORDED: readonly ErrorCode[] = ['use_dpop_nonce', 'temporarily_unavailable'];

const USED = 'was used before: ask its issuer for a new one each time';
/** RSA and EdDSA sign the same claims in the same way, so nothing tells two such assertions apart. */
const USED_WITHOUT_JTI =
  'was used before, or is the same as one that was made in the same second: it has no jti. Ask its issuer for another one a second later';

const UNTRUSTED = 'is of an issuer that this tenant does not trust';

/** An assertion with a right signature, and the issuer as it was read. */
type Asked = {
  readonly issuer: WorkloadIssuer;
  readonly assertion: WorkloadAssertion;
  readonly parameters: TokenParameters;
  readonly key: ProvenKey | undefined;
};

type Issued = { readonly grant: AccessTokenGrant; readonly issued: IssuedAccessToken };

export type WorkloadTokenNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  agents: Pick<AgentService, 'holdIfThere'>;
  tokens: Pick<TokenService, 'prepareAccessTokens'>;
  trustedKeys: IssuerKeyFinder;
  records: Pick<RecordService, 'write'>;
  workloadFailures: Pick<WorkloadFailureService, 'report'>;
  now?: (() => number) | undefined;
};

/** The jwt-bearer grant (RFC 7523 §2.1). @param now milliseconds since 1970 */
export class WorkloadTokenService extends Service<WorkloadTokenNeeds> {
  readonly #now = this.needs.now ?? Date.now;

  /**
   * Exchanges an assertion for a token of the agent that the issuer's rules name. Order of the checks: issuer,
   * signature, claims, proof of a key; then in one transaction the rules, the agent, scope and audience, and whether
   * the assertion was used before. Refusals of a known issuer's assertions are on record; none uses an assertion up.
   * @throws ServiceError `invalid_request` without an assertion, `invalid_client` with a client's credentials,
   * `invalid_grant` for each fault of the assertion, `policy_denied` for a suspended agent, `invalid_scope`,
   * `invalid_target`, `invalid_dpop_proof`, `use_dpop_nonce`, `rate_limited` after too many refusals,
   * `temporarily_unavailable` (keys of the issuer)
   */
  grant = async (context: RequestContext, request: GrantRequest): Promise<TokenAnswer> => {
    const { authorization, parameters } = request;
    const { assertion: text, client_assertion, client_secret } = parameters;
    if (authorization !== undefined || client_assertion !== undefined || client_secret !== undefined)
      throw new ServiceError('invalid_client', {
        detail: 'The assertion of a workload needs no client authentication.',
      });
    if (text === undefined) throw invalidField('body.assertion', 'is missing');
    const issuer = await this.#findIssuer(context, peekClaims(text, refused));
    try {
      return await this.#answer(context, issuer, request, text);
    } catch (error) {
      if (!(error instanceof ServiceError) || UNRECORDED.includes(error.code)) throw error;
      throw await this.needs.workloadFailures.report(context, issuer.id, error);
    }
  };

  /** Finds the issuer that an assertion names: by `iss`, or by the trust domain of a SPIFFE ID. */
  #findIssuer = async ({ tenant }: RequestContext, { iss, sub }: JWTPayload): Promise<WorkloadIssuer> => {
    const named = typeof iss === 'string' && isWorkloadIssuer(iss) ? [iss] : [];
    const domain = trustDomainOf(sub);
    const names = domain === undefined ? named : [...named, domain];
    const found = names.length === 0 ? [] : await store.findByNames(this.needs.database, tenant.id, names);
    const issuer = found.find((each) => each.issuer === iss) ?? found[0];
    if (issuer === undefined) throw refused(UNTRUSTED);
    return issuer;
  };

  /** Verifies signature and claims. @throws ServiceError `invalid_grant`, `temporarily_unavailable` */
  #verify = async (
    { tenant, outsideTurn }: RequestContext,
    issuer: WorkloadIssuer,
    text: string,
  ): Promise<WorkloadAssertion> => {
    try {
      const { protectedHeader: header, payload } = await compactVerify(
        text,
        ({ kid, alg }) => this.needs.trustedKeys.find(issuer, { kid, alg }, refused, outsideTurn),
        { algorithms: [...SUBJECT_TOKEN_ALGORITHMS] },
      );
      const claims: Readonly<Record<string, unknown>> = JSON.parse(new TextDecoder().decode(payload));
      return readAssertion({ header, claims, text }, issuer, tenant, this.#now());
    } catch (error) {
      throw refuseToken(error, refused);
    }
  };

  /** Locks what the token depends on, and decides by it as it is then. */
  #decide = async (
    unit: Transaction,
    context: RequestContext,
    { issuer: read, assertion, parameters, key }: Asked,
  ): Promise<AccessTokenGrant> => {
    const { tenant } = context;
    const issuer = await store.lock(unit, tenant.id, read.id, 'KEY SHARE');
    if (issuer === undefined) throw refused(UNTRUSTED);
    if (issuer.updatedAt.getTime() !== read.updatedAt.getTime())
      throw new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 });
    const rule = findRule(issuer.rules, assertion.claims);
    if (rule === undefined) throw refused(`with the sub ${assertion.sub} fits no rule of its issuer`);
    const agent = await this.#holdAgent(unit, context, rule.agentId);
    context.countClient?.(agent.id);
    checkProofGiven(key, tenant, agent);
    const scopes = grantScopes(parameters.scope, agent.scopes);
    const audience = chooseAudience(agent, tenant, parameters.resource);
    if (audience === undefined)
      throw new ServiceError('invalid_target', {
        detail: describeNoTarget(parameters.resource, (one) => chooseAudience(agent, tenant, one) === one),
      });
    const { name, capabilities } = agent;
    return {
      sub: agent.id,
      audience,
      scopes,
      clientId: issuer.id,
      agent: { name, capabilities },
      jkt: key?.jkt,
    };
  };

  #holdAgent = async (unit: Transaction, context: RequestContext, id: string): Promise<AgentRecord> => {
    const agent = await this.needs.agents.holdIfThere(unit, context, id);
    if (agent === undefined) throw refused('is for an agent that was deleted');
    if (agent.status === 'suspended')
      throw new ServiceError('policy_denied', { detail: 'The agent is suspended.' });
    return agent;
  };

  /** Uses the assertion up, or again for the same request, and records the token, in one transaction. */
  #redeem = (context: RequestContext, asked: Asked, issue: AccessTokenIssuer): Promise<Issued> =>
    this.needs.database.transaction({ tenant: context.tenant }, async (unit) => {
      const grant = await this.#decide(unit, context, asked);
      const { hash, expiresAt } = asked.assertion;
      const request = digestOfRequest(context, asked.parameters, asked.key?.jkt);
      const use = { owner: context.tenant.id, hash, expiresAt, request };
      if (!(await store.usedAssertions.recordOne(unit, use)))
        throw refused(asked.assertion.jti === undefined ? USED_WITHOUT_JTI : USED);
      const { claims: _, ...issued } = issue(grant);
      await this.needs.records.write(unit, context, describe(context, asked, { grant, issued }));
      return { grant, issued };
    });

  #answer = async (
    context: RequestContext,
    issuer: WorkloadIssuer,
    { parameters, proveKey }: Pick<GrantRequest, 'parameters' | 'proveKey'>,
    text: string,
  ): Promise<TokenAnswer> => {
    const assertion = await this.#verify(context, issuer, text);
    const key = await proveKey();
    // Prepared before the transaction begins, because a transaction that waits for a second connection could block.
    const issue = await this.needs.tokens.prepareAccessTokens(context.tenant);
    return answerOf(await this.#redeem(context, { issuer, assertion, parameters, key }, issue));
  };
}

function describe({ address }: RequestContext, { issuer, assertion }: Asked, { grant, issued }: Issued) {
  const { sub: agentId, clientId, audience, jkt } = grant;
  const { tokenId, expiresIn } = issued;
  const scope = grant.scopes.join(' ');
  const named: JsonObject = { agent_id: agentId, workload_issuer_id: issuer.id, method: METHOD };
  const token: JsonObject = { client_id: clientId, scope, audience, expires_in: expiresIn };
  const common = {
    outcome: 'success',
    actor: { kind: 'agent', id: agentId },
    target: { type: 'agent', id: agentId },
    tokenId,
  } as const;
  const workload = { method: METHOD, workload_issuer_id: issuer.id, subject: assertion.sub };
  const login = { ...workload, ...(assertion.jti === undefined ? {} : { assertion_id: assertion.jti }) };
  const bound = jkt === undefined ? {} : { jkt };
  return {
    audit: [
      { ...common, action: 'auth.login.success', data: login },
      {
        ...common,
        action: 'auth.token.issued',
        data: { method: METHOD, client_id: clientId, scope, audience, ...bound },
      },
    ],
    events: [
      { type: 'auth.login.success', data: { ...named, address, subject: assertion.sub } },
      { type: 'auth.token.issued', data: { ...named, ...token, token_id: tokenId } },
    ],
  };
}
