// Creates, changes, suspends and deletes agents. A change that ends an agent's access also ends its tokens, in the same
// transaction.

import { succeeded } from '../../audit/audit.ts';
import { describeChanges, findChanges } from '../../audit/changes.ts';
import type { TokenService } from '../../authentication/tokens/token.service.ts';
import { allTokensEnded } from '../../events/ended-tokens.ts';
import type { EmittedEvent } from '../../events/event.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import { AGENT_SCOPES, checkCapabilityGrantor, checkGrantor } from '../../platform/scopes.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { AgentChanges, AgentFilters } from './agent.store.ts';
import * as store from './agent.store.ts';
import {
  type Agent,
  type AgentRecord,
  type AgentStatus,
  assessRegistration,
  isCapable,
  narrows,
  needsGrantor,
  type RegistrationEvidence,
  rememberHeld,
} from './agent.ts';

export type { Agent } from './agent.ts';

/** Without `scopes`, the agent gets every scope that agents may have. */
export type NewAgent = Pick<AgentRecord, 'name'> & Omit<AgentPatch, 'name'>;

/** `receiptId` names the receipt of a change, which says who has acknowledged it. */
export type EndedAgent = Agent & { readonly receiptId?: string | undefined };

/** Only the given fields are changed. `audience: null` makes the agent use the tenant's audience. */
export type AgentPatch = Given<
  Pick<AgentRecord, (typeof TOLD)[number] | 'description' | 'owner' | 'purpose' | 'metadata'>
>;

/**
 * The audit log shows the values of these fields. Descriptions, owners, purposes and metadata are private to the
 * tenant.
 */
const TOLD = ['name', 'capabilities', 'audience', 'audiences', 'scopes', 'dpopBoundAccessTokens'] as const;

type Verb = 'registered' | 'updated' | 'suspended' | 'reactivated' | 'deleted';

/** Action of a change in the audit log. The event's type is `admin.agent.<verb>`. */
const actionOf = (verb: Verb) => (verb === 'registered' ? 'agent.created' : `agent.${verb}`);

export type AgentNeeds = {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  records: Pick<RecordService, 'write'>;
  /** Ends an agent's tokens, and allows new ones again. */
  tokens: Pick<TokenService, 'revokeTokensOfAgent' | 'admitTokensOfAgent'>;
  /** Deletes the unrevoked keys of a deleted agent, so that their owner can register them again. */
  releaseKeys: (transaction: Transaction, agentId: string) => Promise<void>;
  /** Revokes the open enrollment tokens of a changed agent: who made one may lack what it got. */
  endEnrollments: (transaction: Transaction, agentId: string) => Promise<number>;
  /** Revokes the pending and verified anchors of a deleted agent. */
  revokeAnchors: (transaction: Transaction, agentId: string) => Promise<void>;
  /** Enqueues signals to the workflows of a deleted agent's delegations, so that they end. */
  tellDelegations: (transaction: Transaction, agentId: string) => Promise<void>;
};

/** Manages the agents of a tenant. Source: Specification, "Agent management", "Agent status". */
export class AgentService extends Service<AgentNeeds> {
  /**
   * Creates an active agent. Emits `admin.agent.registered`.
   * @throws ServiceError `insufficient_scope` when the principal lacks one of the agent's scopes, or
   *   `agents:capabilities` for an agent with capabilities
   */
  create = (context: RequestContext, input: NewAgent): Promise<Agent> =>
    this.needs.database.transaction(context, async (transaction) => {
      const scopes = input.scopes ?? AGENT_SCOPES;
      checkGrantor(context.principal, { holder: 'agent', scopes });
      checkCapabilityGrantor(context.principal, input.capabilities ?? []);
      const agent = await store.insert(transaction, {
        id: newId(),
        tenantId: context.tenant.id,
        name: input.name,
        description: input.description ?? null,
        owner: input.owner ?? null,
        purpose: input.purpose ?? null,
        capabilities: input.capabilities ?? [],
        audience: input.audience ?? null,
        audiences: input.audiences ?? [],
        scopes,
        metadata: input.metadata ?? {},
        dpopBoundAccessTokens: input.dpopBoundAccessTokens ?? false,
      });
      await this.#record(transaction, context, 'registered', agent);
      return this.#assessOne({ ...context, transaction }, agent);
    });

  /** @throws ServiceError `not_found` for an unknown or deleted agent, and for an agent of another tenant */
  get = async (context: RequestContext, id: string): Promise<Agent> => {
    const found = await store.find(context.transaction ?? this.needs.database, context.tenant.id, id);
    if (found === undefined) throw unknownAgent();
    return assessed(found.agent, found.evidence);
  };

  /** Returns a page of agents, newest first. */
  list = async (context: RequestContext, request: PageRequest & AgentFilters): Promise<Page<Agent>> => {
    const page = await store.list(context.transaction ?? this.needs.database, context.tenant.id, request);
    return { data: await this.#assess(context, page.data), nextCursor: page.nextCursor };
  };

  /**
   * Changes the given fields, if they differ. A change that takes a scope or an audience away, or asks for proofs of
   * a key, ends the agent's access tokens; its refresh tokens get narrower ones. One that needs a grantor revokes open
   * enrollment tokens, which may be of somebody who lacks what the agent gets. Emits `admin.agent.updated`, and
   * `auth.token.revoked` when tokens end.
   * @throws ServiceError `not_found`; `insufficient_scope` when the change needs a grantor, and the principal lacks a
   *   scope that the agent has had, has or gets; when it adds a capability without `agents:capabilities`
   */
  update = (context: RequestContext, id: string, patch: AgentPatch): Promise<Agent> =>
    this.needs.database.transaction(context, async (transaction) => {
      const found = await lock(transaction, context, id, 'change');
      const changes: AgentChanges = findChanges(found, followTenant(context, found, patch));
      if (Object.keys(changes).length === 0) return this.#assessOne({ ...context, transaction }, found);
      const widens = needsGrantor(found, changes);
      if (widens)
        checkGrantor(context.principal, {
          holder: 'agent',
          scopes: [...found.hadScopes, ...found.scopes, ...(changes.scopes ?? [])],
          isCapable: isCapable(found),
        });
      checkCapabilityGrantor(context.principal, changes.capabilities ?? [], found.capabilities);
      const agent = await store.update(transaction, id, { ...changes, ...rememberHeld(found, changes) });
      const invitations = widens ? await this.needs.endEnrollments(transaction, id) : 0;
      const told = {
        ...describeChanges(found, changes, TOLD),
        ...(invitations > 0 && { revoked_enrollment_tokens: invitations }),
      };
      // A suspended agent has no token that could go on, and must not be admitted.
      const endsTokens = narrows(found, changes) && agent.status === 'active';
      if (endsTokens) await this.needs.tokens.admitTokensOfAgent(transaction, agent);
      const ended = endsTokens ? [allTokensEnded({ kind: 'agent', id }, 'now', actionOf('updated'))] : [];
      await this.#record(transaction, context, 'updated', agent, told, ended);
      return this.#assessOne({ ...context, transaction }, agent);
    });

  /**
   * Deletes an agent. Its tokens end, its anchors are revoked, and its unrevoked keys can be registered again. Its
   * audit entries stay. Emits `admin.agent.deleted`.
   * @returns the id of the receipt
   * @throws ServiceError `not_found`
   */
  remove = (context: RequestContext, id: string): Promise<string | undefined> =>
    this.needs.database.transaction(context, async (transaction) => {
      const agent = await lock(transaction, context, id, 'change');
      await store.markDeleted(transaction, id);
      await this.needs.releaseKeys(transaction, id);
      await this.needs.revokeAnchors(transaction, id);
      await this.needs.tellDelegations(transaction, id);
      await this.needs.tokens.revokeTokensOfAgent(transaction, agent, 'agent_deleted');
      return this.#record(transaction, context, 'deleted', agent);
    });

  /** Like `hold`, but finds a deleted agent too. @returns undefined for an agent that the tenant never had */
  holdAny = (
    transaction: Transaction,
    context: RequestContext,
    id: string,
  ): Promise<AgentRecord | undefined> => store.lockAny(transaction, context.tenant.id, id);

  /** Returns whether the tenant has this agent, or had it. One indexed read. */
  existed = (context: RequestContext, id: string): Promise<boolean> =>
    store.existed(context.transaction ?? this.needs.database, context.tenant.id, id);

  /** Returns whether the tenant has this agent and the agent is not deleted. One indexed read. */
  exists = (context: RequestContext, id: string): Promise<boolean> =>
    store.exists(context.transaction ?? this.needs.database, context.tenant.id, id);

  /**
   * Locks an agent against changes until the transaction ends. Other rooms call it before they insert a row that
   * refers to the agent.
   * @param purpose `change`: also against the issue of tokens, which waits
   * @throws ServiceError `not_found`
   */
  hold = (
    transaction: Transaction,
    context: RequestContext,
    id: string,
    purpose: 'change' | 'reference' = 'reference',
  ): Promise<AgentRecord> => lock(transaction, context, id, purpose);

  /** Like `hold`. @returns undefined for an unknown or deleted agent */
  holdIfThere = (transaction: Transaction, { tenant }: RequestContext, id: string) =>
    store.lock(transaction, tenant.id, id, 'KEY SHARE');

  /**
   * Suspends an agent: it cannot authenticate, and its tokens end. Nothing changes when it is already suspended.
   * Emits `admin.agent.suspended`.
   * @throws ServiceError `not_found`
   */
  suspend = (context: RequestContext, id: string): Promise<EndedAgent> =>
    this.#setStatus(context, id, 'suspended');

  /**
   * Reactivates an agent. Earlier tokens stay ended. Emits `admin.agent.reactivated`. @throws ServiceError
   * `not_found`
   */
  reactivate = (context: RequestContext, id: string): Promise<Agent> =>
    this.#setStatus(context, id, 'active');

  #assess = async (context: RequestContext, agents: readonly AgentRecord[]): Promise<Agent[]> => {
    if (agents.length === 0) return [];
    const ids = agents.map(({ id }) => id);
    const queryable = context.transaction ?? this.needs.database;
    const evidence = await store.readEvidence(queryable, context.tenant.id, ids);
    return agents.map((agent) => assessed(agent, evidence.get(agent.id)));
  };

  #assessOne = async (context: RequestContext, agent: AgentRecord): Promise<Agent> => {
    const [one] = await this.#assess(context, [agent]);
    if (one === undefined) throw new ServiceError('not_found');
    return one;
  };

  #record = async (
    transaction: Transaction,
    context: RequestContext,
    verb: Verb,
    agent: AgentRecord,
    change?: ReturnType<typeof describeChanges>,
    ended: readonly EmittedEvent[] = [],
  ): Promise<string | undefined> => {
    const { id, name } = agent;
    // A receiver of events may store the latest status of each agent. It would otherwise store a deleted agent as
    // active.
    const status = verb === 'deleted' ? 'deleted' : agent.status;
    const [emitted] = await this.needs.records.write(transaction, context, {
      audit: [succeeded(actionOf(verb), { type: 'agent', id }, { name, ...change })],
      events: [
        {
          type: `admin.agent.${verb}`,
          data: {
            agent_id: id,
            name,
            status,
            capabilities: [...agent.capabilities],
            scopes: [...agent.scopes],
            ...(change === undefined ? {} : { changed: change.fields }),
          },
        },
        ...ended,
      ],
    });
    return emitted?.eventId;
  };

  #setStatus = async (context: RequestContext, id: string, status: AgentStatus): Promise<EndedAgent> =>
    this.needs.database.transaction(context, async (transaction) => {
      const found = await lock(transaction, context, id, 'change');
      if (found.status === status) return this.#assessOne({ ...context, transaction }, found);
      const agent = await store.update(transaction, id, { status });
      if (status === 'suspended')
        await this.needs.tokens.revokeTokensOfAgent(transaction, agent, 'agent_suspended');
      else await this.needs.tokens.admitTokensOfAgent(transaction, agent);
      const verb = status === 'suspended' ? 'suspended' : 'reactivated';
      const receiptId = await this.#record(transaction, context, verb, agent);
      return { ...(await this.#assessOne({ ...context, transaction }, agent)), receiptId };
    });
}

const NO_EVIDENCE = { verified: false, audited: false, openEnrollmentTokens: 0 };

function assessed(agent: AgentRecord, evidence: RegistrationEvidence = NO_EVIDENCE): Agent {
  const { openEnrollmentTokens } = evidence;
  return { ...agent, openEnrollmentTokens, registration: assessRegistration(agent, evidence) };
}

async function lock(
  transaction: Transaction,
  context: RequestContext,
  id: string,
  purpose: 'change' | 'reference',
): Promise<AgentRecord> {
  const level = purpose === 'change' ? 'UPDATE' : 'KEY SHARE';
  const agent = await store.lock(transaction, context.tenant.id, id, level);
  if (agent === undefined) throw unknownAgent();
  return agent;
}

/** Ignores an `audience` that equals the tenant's, because a client may send back the value that an answer showed. */
function followTenant({ tenant }: RequestContext, found: AgentRecord, patch: AgentPatch): AgentPatch {
  if (found.audience !== null || patch.audience !== tenant.audience) return patch;
  return { ...patch, audience: undefined };
}

function unknownAgent(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is no agent with this id.' });
}
