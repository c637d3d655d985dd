// Begins, reads and cancels bulk replays for people. Their steps are in bulk-replay-steps.service.ts.

import { type AuditContext, type OperatorRequest, serviceContext } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { SubscriptionService } from '../subscriptions/subscription.service.ts';
import type { BulkReplayName } from './bulk-replay.store.ts';
import * as store from './bulk-replay.store.ts';
import type { BulkReplay, ReplayableStatus } from './bulk-replay.ts';
import type { ReplayRange } from './replay.store.ts';
import * as replays from './replay.store.ts';

/** Selects ended deliveries: created from `since` to before `until` (default: now), with this `status`. */
export type BulkReplayRequest = {
  readonly since: Date;
  readonly until?: Date | undefined;
  readonly status: ReplayableStatus;
};

export type BulkReplayNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  subscriptions: Pick<SubscriptionService, 'get' | 'exists'>;
  endpoints: Pick<EndpointService, 'endHold'>;
  records: Pick<RecordService, 'write'>;
  commands: Pick<WorkflowCommandService, 'add'>;
};

/** Source: Specification, "Webhook management" (replay of deliveries). */
export class BulkReplayService extends Service<BulkReplayNeeds> {
  /** Counts the deliveries that `begin` would replay now. @throws ServiceError as `begin`, except `conflict` */
  preview = (context: RequestContext, subscriptionId: string, request: BulkReplayRequest): Promise<number> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      await this.#requireActive(joined, subscriptionId);
      return replays.count(transaction, await readRange(joined, subscriptionId, request));
    });

  /**
   * Begins a bulk replay, the oldest delivery first. It does not include deliveries that end later. A hold of the
   * endpoint ends, as with each retry.
   * @throws ServiceError `not_found`, `invalid_request`, `subscription_inactive`; `conflict` while another bulk
   *   replay of the subscription runs
   */
  begin = (
    context: RequestContext,
    subscriptionId: string,
    request: BulkReplayRequest,
  ): Promise<BulkReplay> =>
    this.needs.database.transaction(context, async (transaction) => {
      const joined = { ...context, transaction };
      await this.#requireActive(joined, subscriptionId);
      const range = await readRange(joined, subscriptionId, request);
      const { tenantId, status, since, until, endedBy } = range;
      const matched = await replays.count(transaction, range);
      const row = [newId(), tenantId, subscriptionId, status, since, until, matched, endedBy] as const;
      const replay = await store.insert(transaction, ...row);
      if (replay === undefined) {
        const running = await store.findRunning(transaction, subscriptionId);
        throw new ServiceError('conflict', {
          detail: `The bulk replay ${running?.id ?? ''} of this subscription has not ended.`,
        });
      }
      await this.needs.endpoints.endHold(transaction, subscriptionId);
      await this.needs.records.write(transaction, context, {
        audit: [describeBulkReplay('started', replay)],
      });
      await this.needs.commands.add(transaction, [{ tenantId, workflow: 'bulkReplay', entityId: replay.id }]);
      return replay;
    });

  /** Reads one with its `outcomes`. @throws ServiceError `not_found` */
  get = async (context: RequestContext, subscriptionId: string, id: string): Promise<BulkReplay> => {
    const there = await this.needs.subscriptions.exists(context, subscriptionId);
    const name = nameOf(context, subscriptionId, id);
    const found = there ? await store.read(context.transaction ?? this.needs.database, name) : undefined;
    if (found === undefined) throw unknownBulkReplay();
    return found;
  };

  /** Lists a page, the newest first. */
  list = (context: RequestContext, subscriptionId: string, request: PageRequest): Promise<Page<BulkReplay>> =>
    store.list(context.transaction ?? this.needs.database, request, context.tenant.id, subscriptionId);

  /**
   * Cancels a bulk replay. Deliveries that it has replayed continue. A repetition changes nothing.
   * @throws ServiceError `not_found`, `conflict` when it is completed
   */
  cancel = (context: RequestContext, subscriptionId: string, id: string): Promise<BulkReplay> =>
    this.needs.database.transaction(context, async (transaction) => {
      const name = nameOf(context, subscriptionId, id);
      const replay = await this.#cancel(transaction, context, name);
      const { tenantId } = name;
      await this.needs.commands.add(transaction, [{ tenantId, workflow: 'bulkReplay', entityId: id }]);
      return replay;
    });

  /** Reads the summary for operators: the receiver's host, without a path, and the status of the deliveries. */
  describe = async (
    name: BulkReplayName,
  ): Promise<{ summary: string; subscriptionId: string; host: string } | undefined> => {
    const found = await store.describe(this.needs.database, name.tenantId, name.id);
    if (found === undefined) return undefined;
    const { subscriptionId, host, deliveryStatus } = found;
    return { summary: `${host} · ${deliveryStatus}`, subscriptionId, host };
  };

  /** Cancels a bulk replay for an operator. @throws ServiceError `not_found`, `conflict` */
  cancelByOperator = (name: BulkReplayName, { by, reason }: OperatorRequest): Promise<BulkReplay> =>
    this.needs.database.transaction({}, (transaction) =>
      this.#cancel(
        transaction,
        { ...serviceContext({ id: name.tenantId }, newId()), actor: { kind: 'operator', id: by } },
        name,
        reason,
      ),
    );

  /** Lists the replays whose workflow should be running. */
  listExpectedWorkflows = store.listExpectedWorkflows;

  /** @returns whether the tenant's subscription has this bulk replay */
  exists = async (context: RequestContext, subscriptionId: string, id: string): Promise<boolean> =>
    (await this.needs.subscriptions.exists(context, subscriptionId)) &&
    (await store.find(context.transaction ?? this.needs.database, nameOf(context, subscriptionId, id))) !==
      undefined;

  #requireActive = async (context: RequestContext, subscriptionId: string): Promise<void> => {
    const { active } = await this.needs.subscriptions.get(context, subscriptionId);
    if (!active)
      throw new ServiceError('subscription_inactive', {
        detail: 'The subscription is not active: what is replayed would wait. Activate it first.',
      });
  };

  #cancel = async (
    transaction: Transaction,
    context: AuditContext,
    name: BulkReplayName,
    reason?: string,
  ): Promise<BulkReplay> => {
    const found = await store.lock(transaction, name);
    if (found === undefined) throw unknownBulkReplay();
    if (found.status === 'canceled') return found;
    if (found.status === 'completed')
      throw new ServiceError('conflict', { detail: 'The bulk replay is completed.' });
    await store.end(transaction, name.id, 'canceled', 'canceled');
    await this.needs.records.write(transaction, context, {
      audit: [describeBulkReplay('canceled', found, reason === undefined ? {} : { reason })],
    });
    return (await store.find(transaction, name)) ?? found;
  };
}

function nameOf(context: RequestContext, subscriptionId: string, id: string): BulkReplayName {
  return {
    tenantId: context.tenant.id,
    subscriptionId,
    id,
  };
}

async function readRange(
  context: RequestContext & { transaction: Transaction },
  subscriptionId: string,
  { since, until, status }: BulkReplayRequest,
): Promise<ReplayRange> {
  if (until !== undefined && until <= since) throw invalidField('body.until', 'must be later than since');
  const now = await store.now(context.transaction);
  const tenantId = context.tenant.id;
  return { tenantId, subscriptionId, status, since, until: until ?? now, endedBy: now };
}

export function describeBulkReplay(
  verb: 'started' | 'completed' | 'canceled',
  replay: BulkReplay,
  more: Readonly<Record<string, unknown>> = {},
) {
  const { id, subscriptionId, deliveryStatus, since, until, matched, replayed } = replay;
  const data = {
    subscription_id: subscriptionId,
    delivery_status: deliveryStatus,
    since: since.toISOString(),
    until: until.toISOString(),
    matched,
    replayed,
    ...more,
  };
  const target = { type: 'replay', id };
  return { action: `webhook.replay.${verb}`, outcome: 'success' as const, target, data };
}

function unknownBulkReplay(): ServiceError {
  return new ServiceError('not_found', { detail: 'The subscription has no bulk replay with this id.' });
}
