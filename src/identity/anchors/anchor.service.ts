// Creates, lists and revokes anchors for a tenant. anchor-check.service.ts checks the proofs.

import type { RequestContext } from '../../platform/context.ts';
import { newSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { AgentService } from '../agents/agent.service.ts';
import { partOf } from '../agents/agent.ts';
import type { AnchorFilters } from './anchor.store.ts';
import * as store from './anchor.store.ts';
import { type Anchor, type AnchorType, PROOF_PREFIX } from './anchor.ts';
import * as checks from './anchor-check.store.ts';
import { errorOf, LEAST_PAUSE_MS } from './anchor-check.ts';
import type { AnchorProgressService } from './anchor-progress.service.ts';

export type { Anchor } from './anchor.ts';

/** Greatest number of live anchors of an agent, because the service checks each of their domains for years. */
const MOST_LIVE = 50;

const MOST_LIVE_OF_TENANT = 1_000;

/** `value` is a domain name that `normalizeDomain` has returned. */
export type NewAnchor = { readonly type: AnchorType; readonly value: string };

export type AnchorNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  agents: Pick<AgentService, 'get' | 'hold'>;
  progress: AnchorProgressService;
};

/** Source: Specification, "Anchor", "Anchor and delegation". */
export class AnchorService extends Service<AnchorNeeds> {
  /**
   * Creates a pending anchor with a new proof, which its owner must publish within seven days.
   * @throws ServiceError `not_found` (agent); `conflict` while an anchor of the same type and value is pending or
   * verified, or when the agent has 50 live anchors, or its tenant 1,000
   */
  create = (context: RequestContext, agentId: string, { type, value }: NewAnchor): Promise<Anchor> =>
    this.needs.database.transaction(context, async (transaction) => {
      await store.lockTenant(transaction, context.tenant.id);
      const { id: owner } = await this.needs.agents.hold(transaction, context, agentId);
      const row = {
        id: newId(),
        tenantId: context.tenant.id,
        agentId: owner,
        type,
        value,
        proof: PROOF_PREFIX + newSecret(),
      };
      const failed = await store.failOverdue(transaction, owner, type, value);
      const { ofAgent, ofTenant } = await store.countLive(transaction, row.tenantId, owner);
      if (ofTenant >= MOST_LIVE_OF_TENANT)
        throw new ServiceError('conflict', {
          detail: `The tenant has ${MOST_LIVE_OF_TENANT} pending or verified anchors, as many as it may have: revoke one.`,
        });
      if (ofAgent >= MOST_LIVE)
        throw new ServiceError('conflict', {
          detail: `The agent has ${MOST_LIVE} pending or verified anchors, as many as it may have: revoke one.`,
        });
      if (!(await store.insert(transaction, row)))
        throw new ServiceError('conflict', {
          detail: `The agent has a pending or verified anchor ${type} for ${value} already.`,
        });
      for (const { id, lastOutcome } of failed)
        await this.needs.progress.tell(
          transaction,
          context,
          'failed',
          { ...row, id },
          { last_error: lastOutcome },
        );
      await this.needs.progress.tell(transaction, context, 'created', row);
      await this.needs.progress.wake(transaction, row);
      return this.get({ ...context, transaction }, owner, row.id);
    });

  /** @throws ServiceError `not_found` for an anchor of another agent, or an agent of another tenant */
  get = async (context: RequestContext, agentId: string, id: string): Promise<Anchor> => {
    const database = context.transaction ?? this.needs.database;
    const anchor = await store.find(database, context.tenant.id, agentId, id);
    if (anchor === undefined)
      throw new ServiceError('not_found', { detail: 'The agent has no anchor with this id.' });
    return anchor;
  };

  /** Returns a page, newest first. @throws ServiceError `not_found` */
  list = async (
    context: RequestContext,
    agentId: string,
    request: PageRequest & AnchorFilters,
  ): Promise<Page<Anchor>> => {
    await this.needs.agents.get(context, agentId);
    const database = context.transaction ?? this.needs.database;
    return store.list(database, request, context.tenant.id, agentId, request.type, request.status);
  };

  /**
   * Requests a check of a pending or verified anchor: now, or a few seconds after the latest check.
   * @throws ServiceError `not_found`; `conflict` when the anchor has failed or is revoked
   */
  requestCheck = (context: RequestContext, agentId: string, id: string): Promise<Anchor> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      await this.needs.agents.hold(transaction, context, agentId);
      const name = partOf(context, agentId, id);
      const anchor = await this.get(joined, agentId, id);
      if (!(await checks.request(transaction, name.tenantId, id, LEAST_PAUSE_MS, agentId)))
        throw new ServiceError('conflict', {
          detail: `The anchor is ${anchor.status}: create another one.`,
        });
      await this.needs.progress.tell(transaction, context, 'check_requested', anchor);
      await this.needs.progress.wake(transaction, name);
      return this.get(joined, agentId, id);
    });

  /**
   * Revokes a pending or verified anchor. A failed or revoked anchor is not changed. Emits
   * `admin.agent.anchor.revoked`.
   * @param reason for the audit log and the event
   * @throws ServiceError `not_found`
   */
  revoke = (
    context: RequestContext,
    agentId: string,
    id: string,
    reason?: string | undefined,
  ): Promise<Anchor> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      await this.needs.agents.hold(transaction, context, agentId);
      await store.lock(transaction, partOf(context, agentId, id));
      const anchor = await this.get(joined, agentId, id);
      if (anchor.status === 'revoked' || anchor.status === 'failed') return anchor;
      await store.revoke(transaction, id);
      await this.needs.progress.tell(transaction, context, 'revoked', anchor, {
        was: anchor.status,
        reason: reason ?? null,
        missing_since: anchor.missingSince?.toISOString() ?? null,
        last_error: errorOf(anchor),
      });
      await this.needs.progress.wake(transaction, anchor);
      return this.get(joined, agentId, id);
    });

  /** Returns whether the agent has this anchor. One indexed read. */
  exists = (context: RequestContext, agentId: string, id: string): Promise<boolean> =>
    store.exists(context.transaction ?? this.needs.database, context.tenant.id, id, agentId);
}
