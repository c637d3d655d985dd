// Manages delegations of users to agents. A delegation expires at its expiry time. The expiry is recorded later, which
// changes nothing for tokens.

import { SEALED_MARK, succeeded } from '../../audit/audit.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import { chooseAudience } from '../../identity/agents/agent.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import { canonicalizeScopes } from '../../platform/scope-hash.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import { isIssuer, type Subject } from '../users/subject.ts';
import { type OpenedUser, sealAddress, type UserService } from '../users/user.service.ts';
import type { StoredDelegation } from './delegation.store.ts';
import * as store from './delegation.store.ts';
import type { Delegation, DelegationRequest } from './delegation.ts';

export type { Delegation, DelegationRequest, UsableDelegation } from './delegation.ts';

/** `receiptId` names the receipt of a revocation, which says who has acknowledged it. */
export type EndedDelegation = Delegation & { readonly receiptId?: string | undefined };

export type NewDelegation = Pick<Delegation, 'agentId' | 'scopes' | 'expiresAt'> &
  Given<Pick<Delegation, 'audience'>> & { readonly subject: Subject };

/** Only issuer and sub together name a user. */
export type DelegationFilters = Given<Pick<Delegation, 'agentId' | 'status'>> & {
  readonly subjectIssuer?: string | undefined;
  readonly subjectSub?: string | undefined;
};

type Joined = RequestContext & { readonly transaction: Transaction };

export type DelegationNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  agents: Pick<AgentService, 'holdIfThere'>;
  records: Pick<RecordService, 'write'>;
  tokens: Pick<RevocationService, 'endPrincipal'>;
  users: Pick<UserService, 'open' | 'keep' | 'digestsOf'>;
  commands: Pick<WorkflowCommandService, 'add'>;
};

/** Manages the delegations of a tenant. Source: Specification, "Anchor and delegation", "Token exchange"; RFC 8693. */
export class DelegationService extends Service<DelegationNeeds> {
  /**
   * Stores that a user permits an agent to act for the user.
   * @throws ServiceError `invalid_request` naming the field: an issuer that is neither an https URL nor the tenant's
   * own, an agent that does not exist, a scope or an audience that the agent does not have, an end in the past or more
   * than a year away
   */
  create = (context: RequestContext, input: NewDelegation): Promise<Delegation> =>
    this.needs.database.transaction(context, async (transaction) => {
      const { tenant } = context;
      const { subject, agentId } = input;
      if (subject.issuer !== tenant.issuerUrl && !isIssuer(subject.issuer))
        throw invalidField('body.subject.issuer', 'must be an https URL without query and fragment');
      await this.#checkAgent(transaction, context, input);
      const id = newId();
      const scopes = canonicalizeScopes(input.scopes);
      const { audience = null, expiresAt } = input;
      const user = await this.needs.users.keep(transaction, tenant.id, subject);
      if (!(await store.insert(transaction, id, tenant.id, agentId, user.id, scopes, audience, expiresAt)))
        throw invalidField('body.expires_at', 'must be in the future, and at most a year from now');
      await this.needs.records.write(transaction, sealAddress(context, user), {
        audit: [
          succeeded(
            'delegation.created',
            { type: 'delegation', id },
            { agent_id: agentId, subject_id: user.id, scopes, audience },
          ),
        ],
      });
      await this.#tellWorkflow(transaction, tenant.id, id);
      return this.get({ ...context, transaction }, id);
    });

  /** @throws ServiceError `not_found` */
  get = async (context: RequestContext, id: string): Promise<Delegation> => {
    const row = await this.#findRow(context, id);
    return toDelegation(row, this.#openUser(row));
  };

  /** Returns a page, newest first. */
  list = async (
    context: RequestContext,
    { subjectIssuer: issuer, subjectSub: sub, agentId, status, ...page }: PageRequest & DelegationFilters,
  ): Promise<Page<Delegation>> => {
    const { tenant, transaction = this.needs.database } = context;
    const digests =
      issuer === undefined || sub === undefined
        ? undefined
        : this.needs.users.digestsOf(tenant.id, { issuer, sub });
    const { data, ...rest } = await store.list(transaction, page, tenant.id, agentId, status, digests);
    return { ...rest, data: data.map((row) => toDelegation(row, this.#openUser(row))) };
  };

  /**
   * Revokes an active or expired delegation. An exchange that begins after the commit is refused. All tokens that
   * were issued on the delegation end, with all tokens derived from them. A repeated call changes nothing. Emits
   * `admin.delegation.revoked`.
   * @param reason for people
   * @returns the delegation, and the id of the receipt when it was not revoked before
   * @throws ServiceError `not_found`
   */
  revoke = (context: RequestContext, id: string, reason?: string | undefined): Promise<EndedDelegation> =>
    this.#withLock<EndedDelegation>(context, id, async (joined, found, { isOpen, user }) => {
      if (found.status === 'revoked') return found;
      const receiptId = await this.#revoke(joined, { ...found, user }, reason);
      // When the end is already recorded, the workflow has ended and needs no signal.
      if (isOpen) await this.#tellWorkflow(joined.transaction, found.tenantId, id);
      return { ...(await this.get(joined, id)), receiptId };
    });

  /**
   * Revokes an active delegation. Called by the delegation's workflow, which therefore gets no signal.
   * @throws ServiceError `not_found`, `conflict` for a delegation that is not active
   */
  revokeActive = (context: RequestContext, id: string, reason?: string | undefined): Promise<Delegation> =>
    this.#withLock(context, id, async (joined, found, { user }) => {
      if (found.status !== 'active')
        throw new ServiceError('conflict', { detail: `The delegation is ${found.status}.` });
      await this.#revoke(joined, { ...found, user }, reason);
      return this.get(joined, id);
    });

  /**
   * Revokes all delegations of users who are forgotten, in the transaction of the context.
   * @returns how many were not revoked before
   */
  endOfUsers = async (context: Joined, userIds: readonly string[]): Promise<number> => {
    const { tenant, transaction } = context;
    const ended = await store.markForgotten(transaction, userIds);
    const described = ended.map((one) => describeRevocation({ ...one, reason: 'user_forgotten' }));
    await this.needs.records.write(transaction, context, {
      audit: described.flatMap(({ audit }) => audit),
      events: described.flatMap(({ events }) => events),
    });
    const open = ended.filter(({ isOpen }) => isOpen);
    await this.needs.commands.add(
      transaction,
      open.map(({ id }) => ({ tenantId: tenant.id, workflow: 'delegationExpiry', entityId: id })),
    );
    return ended.length;
  };

  /**
   * Finds the delegation for each exchange, and locks it with its agent until the transaction ends. A revocation waits
   * for that, so no token is issued after a revocation is committed. `judgeDelegation` decides.
   */
  findForExchanges = (
    unit: Queryable,
    requests: readonly (DelegationRequest & { readonly tenantId: string })[],
    mode: 'waiting' | 'skipping',
  ) => {
    const sought = requests.map(({ subject, ...request }) => ({
      ...request,
      digests: this.needs.users.digestsOf(request.tenantId, subject),
    }));
    return store.findForExchanges(unit, sought, mode);
  };

  /** Returns whether the tenant has this delegation. One indexed read. */
  exists = (context: RequestContext, id: string): Promise<boolean> =>
    store.exists(context.transaction ?? this.needs.database, context.tenant.id, id);

  #findRow = async (context: RequestContext, id: string) => {
    const row = await store.find(context.transaction ?? this.needs.database, context.tenant.id, id);
    if (row === undefined)
      throw new ServiceError('not_found', { detail: 'There is no delegation with this id.' });
    return row;
  };

  #checkAgent = async (
    transaction: Transaction,
    context: RequestContext,
    { agentId, scopes, audience }: NewDelegation,
  ): Promise<void> => {
    const agent = await this.needs.agents.holdIfThere(transaction, context, agentId);
    if (agent === undefined) throw invalidField('body.agent_id', 'is no agent of this tenant');
    const beyond = scopes.findIndex((scope) => !agent.scopes.includes(scope));
    if (beyond !== -1) throw invalidField(`body.scopes.${beyond}`, 'is beyond the scopes of the agent');
    if (chooseAudience(agent, context.tenant, audience) === undefined)
      throw invalidField('body.audience', 'is none of the audiences of the agent');
  };

  #tellWorkflow = (transaction: Transaction, tenantId: string, id: string): Promise<void> =>
    this.needs.commands.add(transaction, [{ tenantId, workflow: 'delegationExpiry', entityId: id }]);

  #withLock = <T>(
    context: RequestContext,
    id: string,
    work: (
      joined: Joined,
      found: Delegation,
      more: { readonly isOpen: boolean; readonly user: OpenedUser | undefined },
    ) => Promise<T>,
  ): Promise<T> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      const lock = await store.lock(transaction, context.tenant.id, id);
      const row = await this.#findRow(joined, id);
      const user = this.#openUser(row);
      return work(joined, toDelegation(row, user), { isOpen: lock?.isOpen ?? false, user });
    });

  /** The reason in words of people may name the user, so it is sealed, and the event does not have it. */
  #revoke = async (
    context: Joined,
    { id, agentId, subject, scopes, user }: Delegation & { readonly user: OpenedUser | undefined },
    reason: string | undefined,
  ): Promise<string | undefined> => {
    const { tenant, transaction } = context;
    const sealed = reason === undefined ? undefined : user?.seal(reason);
    await store.markRevoked(transaction, id, sealed ?? reason ?? null);
    await this.needs.tokens.endPrincipal(transaction, tenant.id, id);
    const described = describeRevocation({
      id,
      agentId,
      userId: subject.id,
      scopes,
      reason: sealed,
    });
    const [emitted] = await this.needs.records.write(transaction, sealAddress(context, user), described);
    return emitted?.eventId;
  };

  /** @returns undefined when the user is forgotten */
  #openUser = (row: StoredDelegation): OpenedUser | undefined => {
    const { userId: id, tenantId, nameSealed, keySealed } = row;
    if (nameSealed === null || keySealed === null) return undefined;
    return this.needs.users.open({ id, tenantId, nameSealed, keySealed });
  };
}

function describeRevocation({
  id,
  agentId,
  userId,
  scopes,
  reason,
}: Pick<Delegation, 'id' | 'agentId' | 'scopes'> & {
  readonly userId: string;
  readonly reason: string | undefined;
}) {
  const data = { agent_id: agentId, subject_id: userId };
  const audited = reason === undefined ? data : { ...data, reason };
  return {
    audit: [succeeded('delegation.revoked', { type: 'delegation', id }, audited)],
    events: [
      {
        type: 'admin.delegation.revoked' as const,
        data: { delegation_id: id, ...data, scopes: [...scopes] },
      },
    ],
  };
}

/** @param user undefined when the user is forgotten */
function toDelegation(row: StoredDelegation, user: OpenedUser | undefined): Delegation {
  const { userId: id, nameSealed: _, keySealed: __, ...delegation } = row;
  const { revokedReason: reason } = delegation;
  const revokedReason = reason?.startsWith(SEALED_MARK) ? (user?.open(reason) ?? null) : reason;
  return {
    ...delegation,
    revokedReason,
    subject: { id, issuer: user?.issuer ?? null, sub: user?.sub ?? null },
  };
}
