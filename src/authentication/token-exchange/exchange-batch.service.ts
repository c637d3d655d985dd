// Issues and records delegated tokens: those of concurrent requests in one transaction, in which the database says of
// each whether its delegation and its sources still hold.
// docs/decisions/0008-token-exchange.md

import type { JsonObject } from '../../events/event.ts';
import type { Client } from '../../identity/applications/application.service.ts';
import { actorsOf } from '../../platform/act.ts';
import type { RequestContext } from '../../platform/context.ts';
import { LONGEST_TOKEN } from '../../platform/crypto/jws.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { parseScope } from '../../platform/scopes.ts';
import { Service } from '../../platform/service.ts';
import type { Happening, PreparedRecords, RecordService } from '../../webhooks/intake/record.service.ts';
import type { DelegationService } from '../delegations/delegation.service.ts';
import { type DelegationCandidate, judgeDelegation } from '../delegations/delegation.ts';
import { checkProofGiven } from '../dpop/required-proof.ts';
import { type AccessTokenGrant, scopesOf } from '../tokens/access-token.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import { principalsOf } from '../tokens/revocation.ts';
import type { AccessTokenIssuer, IssuedAccessToken } from '../tokens/token.service.ts';
import type { ProvenKey } from '../tokens/token-answer.ts';
import { sealAddress, type UserService } from '../users/user.service.ts';
import {
  boundExpiry,
  boundScopes,
  buildDelegatedClaims,
  chooseAudience,
  deriveFrom,
  ownLinks,
} from './exchange.ts';
import type { ExchangeParties } from './exchange-parties.service.ts';
import type { ExchangeRequest } from './exchange-request.ts';

/** Name of this grant in audit entries and events. */
export const METHOD = 'token_exchange';

/** Exchanges of one transaction. Each is signed in it, which holds up the event loop for about 0.1 ms. */
const MOST = 32;

/** An exchange with verified tokens and a verified proof. The database decides the rest. */
export type VerifiedExchange = ExchangeParties & {
  readonly context: RequestContext;
  readonly client: Client;
  readonly request: ExchangeRequest;
  readonly key: ProvenKey | undefined;
  /** Signs the token. It needs no connection. */
  readonly issue: AccessTokenIssuer;
};

export type Exchanged = { readonly grant: AccessTokenGrant; readonly issued: IssuedAccessToken };

export type ExchangeBatchNeeds = {
  database: Pick<Database, 'transaction'>;
  delegations: Pick<DelegationService, 'findForExchanges'>;
  revocations: Pick<RevocationService, 'findRevoked'>;
  records: Pick<RecordService, 'prepare' | 'writeBatch'>;
  users: Pick<UserService, 'open'>;
  /** Seconds @param now milliseconds since 1970. */
  accessTokenLifetime: number;
  now: () => number;
};

type Sources = Parameters<RevocationService['findRevoked']>[1][number];
type Made = Exchanged & { readonly claims: Sources[number]; readonly prepared: PreparedRecords };

/**
 * `sought`: the delegation that it needs. `made`: its token, which a repeated try records again, because the first one
 * may have been committed.
 */
type Pending = VerifiedExchange & { readonly sought: ReturnType<typeof seekDelegation>; made?: Made };

/**
 * What a batch made of an exchange; `changed`: the client is another than was read; undefined when it found no
 * delegation that it could lock immediately.
 */
type Outcome = Made | ServiceError | 'changed' | undefined;

export class ExchangeBatches extends Service<ExchangeBatchNeeds> {
  readonly #together = createCoalescer<Pending, Outcome>({
    limits: { rows: MOST },
    laneOf: ({ context: { tenant } }) => (tenant.fansOut ? tenant.id : undefined),
    run: (batch) => this.needs.database.transaction({}, (unit) => this.#recordBatch(unit, batch, 'skipping')),
  });

  /**
   * Issues the token of an exchange and records it, unless one of its sources has ended. One that meets a change of
   * its delegation, its agent or its client waits for the change, without the others.
   * @returns undefined when the client has changed since it was read
   * @throws ServiceError as `judgeDelegation`, `checkProofGiven` and the limits of a token; `invalid_request` when a
   * source was revoked; `temporarily_unavailable`
   */
  exchange = async (asked: VerifiedExchange): Promise<Exchanged | undefined> => {
    const pending = { ...asked, sought: seekDelegation(asked) };
    const outcome = (await this.#together.add(pending)) ?? (await this.#recordAlone(pending));
    if (outcome instanceof ServiceError) throw outcome;
    return outcome === 'changed' ? undefined : outcome;
  };

  #recordAlone = async (pending: Pending): Promise<NonNullable<Outcome>> => {
    const [outcome] = await this.needs.database.transaction({ tenant: pending.context.tenant }, (unit) =>
      this.#recordBatch(unit, [pending], 'waiting'),
    );
    if (outcome === undefined) throw new Error('an exchange has no outcome');
    return outcome;
  };

  /** Locks the delegations, decides and signs, reads the revocations of all tokens, and records what holds. */
  #recordBatch = async (
    unit: Transaction,
    batch: readonly Pending[],
    mode: 'skipping' | 'waiting',
  ): Promise<Outcome[]> => {
    const sought = batch.map((one) => one.sought);
    const found = await this.needs.delegations.findForExchanges(unit, sought, mode);
    const made = batch.map((asked, n): Outcome => {
      if (found[n] === undefined && mode === 'skipping') return undefined;
      return found[n]?.isOfClient === false ? 'changed' : attempt(() => this.#make(asked, found[n]));
    });
    const sources = batch.map(({ actor, subject }, n): Sources => {
      const one = made[n];
      if (!isMade(one)) return [];
      return subject.own === undefined ? [actor, one.claims] : [actor, subject.own, one.claims];
    });
    const revoked = await this.needs.revocations.findRevoked(unit, sources);
    const outcomes = made.map((one, n) => (revoked[n] ? revokedSource() : one));
    await this.needs.records.writeBatch(
      unit,
      outcomes.filter(isMade).map(({ prepared }) => prepared),
    );
    return outcomes;
  };

  /** Called after the delegation is locked, because the lifetime of the token is counted from now. */
  #make = (pending: Pending, candidate: DelegationCandidate | undefined): Made => {
    const { context, key, client, issue, made } = pending;
    const { delegation, agent, user } = judgeDelegation(candidate, pending.sought);
    checkProofGiven(key, context.tenant, client, agent);
    if (made?.grant.delegation?.delegation_id === delegation.id) return made;
    const grant = this.#decide(pending, { delegation, agent, user });
    const { claims, ...issued } = issue(grant);
    if (issued.accessToken.length > LONGEST_TOKEN)
      throw refuse('The token would be too large: the names in its chain of delegation are too long.');
    const happening = describeIssued(pending, { grant, issued }, delegation.id);
    const sealed = sealAddress(context, this.needs.users.open(user));
    pending.made = { grant, issued, claims, prepared: this.needs.records.prepare(sealed, happening) };
    return pending.made;
  };

  #decide = (
    { context: { tenant }, client, request, actor, subject, key }: VerifiedExchange,
    { delegation, agent, user }: Pick<DelegationCandidate, 'delegation' | 'agent' | 'user'>,
  ): AccessTokenGrant => {
    const issuedAt = Math.floor(this.needs.now() / 1000);
    const { sub, act, delegated_subject } = buildDelegatedClaims(user.id, {
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
          lifetime: this.needs.accessTokenLifetime,
          subject: subject.exp,
          actor: actor.exp,
          delegation: delegation.expiresAt.getTime() / 1000,
        }),
      },
    };
  };
}

const isMade = (one: Outcome): one is Made => typeof one === 'object' && !(one instanceof ServiceError);

function seekDelegation({ context, client, request, actor, subject }: VerifiedExchange) {
  return {
    tenantId: context.tenant.id,
    subject: { issuer: subject.issuer, sub: subject.sub },
    agentId: actor.sub,
    scopes: request.scope === undefined ? undefined : (parseScope(request.scope) ?? undefined),
    audience: request.target,
    links: ownLinks(subject.act),
    client,
  };
}

function describeIssued(
  { actor, subject, client }: VerifiedExchange,
  { grant, issued }: Exchanged,
  delegationId: string,
): Happening {
  const data: JsonObject = {
    method: METHOD,
    scope: grant.scopes.join(' '),
    audience: grant.audience,
    client_id: client.id,
    delegation_id: delegationId,
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
  return {
    audit: [
      {
        action: 'auth.token.issued',
        outcome: 'success',
        actor: { kind: 'agent', id: agentId },
        target: { type: 'delegation', id: delegationId },
        tokenId: issued.tokenId,
        data,
      },
    ],
    events: [{ type: 'auth.token.issued', data: { ...data, ...facts } }],
  };
}

/** A refusal is the outcome of one exchange; any other error is that of its batch. */
function attempt<T>(work: () => T): T | ServiceError {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const revokedSource = () =>
  refuse('A token of this exchange, or an agent in its chain of delegation, was revoked.');

function refuse(detail: string): ServiceError {
  return new ServiceError('invalid_request', { detail });
}
