// Manages delegations of users to agents. A delegation expires at its expiry time. The expiry is recorded later, which
// changes nothing for tokens.

import { succeeded } from '../../audit/audit.ts';
import type { AgentService } from '../../identity/agents/agent.service.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import { canonicalizeScopes } from '../../platform/scope-hash.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { RevocationService } from '../tokens/revocation.service.ts';
import type { DelegationFilters } from './delegation.store.ts';
import * as store from './delegation.store.ts';
import type { Delegation } from './delegation.ts';
import { isIssuer, subjectId } from '../users/subject.ts';

export type { Delegation, DelegationRequest, UsableDelegation } from './delegation.ts';

/** `receiptId` names the receipt of a revocation, which says who has acknowledged it. */
export type EndedDelegation = Delegation & { readonly receiptId?: string | undefined };

export type NewDelegation = Pick<Delegation, 'subject' | 'agentId' | 'scopes' | 'expiresAt'> &
  Given<Pick<Delegation, 'audience'>>;

type Joined = RequestContext & { readonly transaction: Transaction };

export type DelegationNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  agents: Pick<AgentService, 'holdIfThere'>;
  records: Pick<RecordService, 'write'>;
  tokens: Pick<RevocationService, 'endPrincipal'>;
  commands: Pick<WorkflowCommandService, 'add'>;
};

/** Manages the delegations of a tenant. Source: Specification, "Anchor and delegation", "Token exchange"; RFC 8693. */
export function createDelegationService(needs: DelegationNeeds) {
  return {
    ...bindUseCases(needs, { create, get: read, revoke: revokeDelegation, revokeActive }),
    /**
     * Finds the delegation for each exchange, and locks it with its agent until the transaction ends. A revocation
     * waits for that, so no token is issued after a revocation is committed. `judgeDelegation` decides.
     */
    findForExchanges: store.findForExchanges,
    exists: (context: RequestContext, id: string): Promise<boolean> =>
      store.exists(context.transaction ?? needs.database, context.tenant.id, id),
    /** Returns a page, newest first. */
    list: (context: RequestContext, request: PageRequest & DelegationFilters): Promise<Page<Delegation>> =>
      store.list(context.transaction ?? needs.database, context.tenant.id, request),
  };
}

export type DelegationService = ReturnType<typeof createDelegationService>;

/**
 * Stores that a user permits an agent to act for the user.
 * @throws ServiceError `invalid_request` naming the field: an issuer that is neither an https URL nor the tenant's
 * own, an agent that does not exist, a scope that the agent does not have, an end in the past or more than a year
 * away
 */
function create(needs: DelegationNeeds, context: RequestContext, input: NewDelegation): Promise<Delegation> {
  return needs.database.transaction(context, async (transaction) => {
    const { tenant } = context;
    const { subject, agentId } = input;
    if (subject.issuer !== tenant.issuerUrl && !isIssuer(subject.issuer))
      throw invalidField('body.subject.issuer', 'must be an https URL without query and fragment');
    await checkAgent(needs, transaction, context, input);
    const id = newId();
    const scopes = canonicalizeScopes(input.scopes);
    const { audience = null, expiresAt } = input;
    const row = { id, tenantId: tenant.id, agentId, subject, scopes, audience, expiresAt };
    if (!(await store.insert(transaction, row)))
      throw invalidField('body.expires_at', 'must be in the future, and at most a year from now');
    await needs.records.write(transaction, context, {
      audit: [
        succeeded(
          'delegation.created',
          { type: 'delegation', id },
          { agent_id: agentId, subject_id: subjectId(tenant.id, subject), scopes, audience },
        ),
      ],
    });
    await tellWorkflow(needs, transaction, tenant.id, id);
    return read(needs, { ...context, transaction }, id);
  });
}

/** @throws ServiceError `not_found` */
async function read({ database }: DelegationNeeds, context: RequestContext, id: string): Promise<Delegation> {
  const delegation = await store.find(context.transaction ?? database, context.tenant.id, id);
  if (delegation === undefined)
    throw new ServiceError('not_found', { detail: 'There is no delegation with this id.' });
  return delegation;
}

/**
 * Revokes an active or expired delegation. An exchange that begins after the commit is refused. All tokens that
 * were issued on the delegation end, with all tokens derived from them. A repeated call changes nothing. Emits
 * `admin.delegation.revoked`.
 * @param reason for people
 * @returns the delegation, and the id of the receipt when it was not revoked before
 * @throws ServiceError `not_found`
 */
function revokeDelegation(
  needs: DelegationNeeds,
  context: RequestContext,
  id: string,
  reason?: string | undefined,
): Promise<EndedDelegation> {
  return withLock<EndedDelegation>(needs, context, id, async (joined, found, { isOpen }) => {
    if (found.status === 'revoked') return found;
    const receiptId = await revoke(needs, joined, found, reason);
    // When the end is already recorded, the workflow has ended and needs no signal.
    if (isOpen) await tellWorkflow(needs, joined.transaction, found.tenantId, id);
    return { ...(await read(needs, joined, id)), receiptId };
  });
}

/**
 * Revokes an active delegation. Called by the delegation's workflow, which therefore gets no signal.
 * @throws ServiceError `not_found`, `conflict` for a delegation that is not active
 */
function revokeActive(
  needs: DelegationNeeds,
  context: RequestContext,
  id: string,
  reason?: string | undefined,
): Promise<Delegation> {
  return withLock(needs, context, id, async (joined, found) => {
    if (found.status !== 'active')
      throw new ServiceError('conflict', { detail: `The delegation is ${found.status}.` });
    await revoke(needs, joined, found, reason);
    return read(needs, joined, id);
  });
}

async function checkAgent(
  { agents }: DelegationNeeds,
  transaction: Transaction,
  context: RequestContext,
  { agentId, scopes }: NewDelegation,
): Promise<void> {
  const agent = await agents.holdIfThere(transaction, context, agentId);
  if (agent === undefined) throw invalidField('body.agent_id', 'is no agent of this tenant');
  const beyond = scopes.findIndex((scope) => !agent.scopes.includes(scope));
  if (beyond !== -1) throw invalidField(`body.scopes.${beyond}`, 'is beyond the scopes of the agent');
}

function tellWorkflow(
  { commands }: DelegationNeeds,
  transaction: Transaction,
  tenantId: string,
  id: string,
): Promise<void> {
  return commands.add(transaction, [{ tenantId, workflow: 'delegationExpiry', entityId: id }]);
}

function withLock<T>(
  needs: DelegationNeeds,
  context: RequestContext,
  id: string,
  work: (joined: Joined, found: Delegation, lock: { isOpen: boolean }) => Promise<T>,
): Promise<T> {
  return needs.database.transaction(context, async (transaction) => {
    const joined = { ...context, transaction };
    const lock = await store.lock(transaction, context.tenant.id, id);
    return work(joined, await read(needs, joined, id), { isOpen: lock?.isOpen ?? false });
  });
}

async function revoke(
  { tokens, records }: DelegationNeeds,
  context: Joined,
  found: Delegation,
  reason: string | undefined,
): Promise<string | undefined> {
  const { tenant, transaction } = context;
  const { id, agentId, subject, scopes } = found;
  await store.markRevoked(transaction, id, reason ?? null);
  await tokens.endPrincipal(transaction, tenant.id, id);
  const data = { agent_id: agentId, subject_id: subjectId(tenant.id, subject) };
  const [emitted] = await records.write(transaction, context, {
    audit: [
      succeeded(
        'delegation.revoked',
        { type: 'delegation', id },
        reason === undefined ? data : { ...data, reason },
      ),
    ],
    events: [
      {
        type: 'admin.delegation.revoked',
        data: {
          delegation_id: id,
          ...data,
          subject: { ...subject },
          scopes: [...scopes],
          reason: reason ?? null,
        },
      },
    ],
  });
  return emitted?.eventId;
}
