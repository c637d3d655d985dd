// Lists, retries and cancels deliveries for tenants and operators. The relay and the workflow make the attempts.

import { type AuditContext, type OperatorRequest, serviceContext } from '../../audit/audit.ts';
import type { Principal, RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import { exists as hasSubscription } from '../subscriptions/subscription.store.ts';
import type { DeliveryDetails, DeliveryFilters, DeliveryRecord } from './delivery.ts';
import type { DeliveryScope } from './delivery-record.store.ts';
import * as store from './delivery-record.store.ts';

type Actor = AuditContext & { readonly transaction?: Transaction | undefined };

type Target = {
  readonly id: string;
  readonly subscriptionId?: string | undefined;
  readonly reason?: string | undefined;
  /** Does nothing unless the delivery is unfinished in this generation, so that an ended delivery is not replayed. */
  readonly generation?: number | undefined;
};

export type OperatedDelivery = {
  readonly tenantId: string;
  readonly id: string;
  readonly generation: number;
};

export type DeliveryStep = 'retry' | 'cancel';

type Step = Pick<DeliveryRecord, 'id' | 'subscriptionId' | 'status'> & {
  readonly tenantId: string;
  /** A generation in which the delivery must be unfinished; undefined when an ended one is replayed. */
  readonly unfinished: number | undefined;
};

const CHUNK = 5_000;

export type DeliveryNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  endpoints: Pick<EndpointService, 'endHold'>;
  records: Pick<RecordService, 'write'>;
  notifier: { poke(): void };
};

/**
 * The deliveries of a tenant. Source: Specification, "Webhook delivery record".
 * With `subscriptionId` a function handles only deliveries of that subscription, which must not be deleted, and no
 * stream.
 */
export class DeliveryService extends Service<DeliveryNeeds> {
  /** @returns the action of the audit log; undefined when nothing was to do */
  readonly #steps = {
    retry: async (
      transaction: Transaction,
      { tenantId, id, subscriptionId, unfinished }: Step,
    ): Promise<string | undefined> => {
      // Locks the endpoint before the delivery, in the same order as attempts.
      await this.needs.endpoints.endHold(transaction, subscriptionId);
      const was = await store.retry(transaction, id, tenantId, newId(), unfinished);
      if (was === undefined) {
        const { status } = await find(transaction, { tenantId }, id);
        const isOver = unfinished !== undefined && !['pending', 'retrying', 'held'].includes(status);
        const detail = isOver
          ? `The delivery has ended: it is ${status}. Its route replays it.`
          : 'The subscription of this delivery is deleted, or the delivery has begun anew.';
        throw new ServiceError('conflict', { detail });
      }
      return was.ended ? 'webhook.delivery.replayed' : 'webhook.delivery.retried';
    },

    cancel: async (
      transaction: Transaction,
      { tenantId, id, status: before }: Step,
    ): Promise<string | undefined> => {
      if (before === 'canceled') return undefined;
      if ((await store.cancel(transaction, id, tenantId)) > 0) return 'webhook.delivery.canceled';
      const { status } = await find(transaction, { tenantId }, id);
      if (status === 'canceled') return undefined;
      throw new ServiceError('conflict', { detail: `The delivery has ended: it is ${status}.` });
    },
  };

  /** Lists a page, the newest first. @throws ServiceError `not_found` */
  list = async (
    context: RequestContext,
    request: PageRequest & DeliveryFilters,
    subscriptionId?: string | undefined,
  ): Promise<Page<DeliveryRecord>> => {
    const queryable = context.transaction ?? this.needs.database;
    return store.list(queryable, await scopeOf(queryable, context, subscriptionId), request);
  };

  /** Reads one delivery with its body and its attempts. @throws ServiceError `not_found` */
  get = async (
    context: RequestContext,
    id: string,
    subscriptionId?: string | undefined,
  ): Promise<DeliveryDetails> => {
    const queryable = context.transaction ?? this.needs.database;
    return readDetails(queryable, await scopeOf(queryable, context, subscriptionId), id);
  };

  /**
   * Retries or cancels for an operator, who sent an update to the delivery's workflow. A delivery that has ended
   * since then is not replayed, so that a batch of updates does not send delivered events again.
   * @throws ServiceError as `retry` and `cancel`
   */
  operate = async (
    { tenantId, id, generation }: OperatedDelivery,
    step: DeliveryStep,
    { by, reason }: OperatorRequest = {},
  ): Promise<void> => {
    const actor = {
      ...serviceContext({ id: tenantId }, newId()),
      actor: { kind: 'operator', id: by } as const,
    };
    await this.#change(actor, { id, generation, reason }, step);
  };

  /**
   * Retries or cancels within an operator act, which makes the audit entry. An ended delivery is replayed.
   * @returns the delivery before and after, and the action of the audit log: undefined when nothing was to do
   * @throws ServiceError as `retry` and `cancel`
   */
  actOn = async (
    unit: Transaction,
    { tenantId, id }: { tenantId: string; id: string },
    step: DeliveryStep,
  ): Promise<{ before: DeliveryRecord; after: DeliveryRecord; action: string | undefined }> => {
    const before = await find(unit, { tenantId }, id);
    const action = await this.#steps[step](unit, { ...before, tenantId, unfinished: undefined });
    unit.afterCommit(() => this.needs.notifier.poke());
    return { before, after: await find(unit, { tenantId }, id), action };
  };

  /**
   * Cancels unfinished deliveries of a closed subscription in one statement, and enqueues commands for their workflows.
   * Where the subscription is deleted the sweep cancels the rest, which already show as canceled.
   * @returns how many, and whether there may be more
   */
  cancelUnfinished = async (
    unit: Transaction,
    subscriptionId: string,
  ): Promise<{ canceled: number; more: boolean }> => {
    const canceled = await store.cancelUnfinished(unit, subscriptionId, CHUNK);
    if (canceled > 0) unit.afterCommit(() => this.needs.notifier.poke());
    return { canceled, more: canceled === CHUNK };
  };

  /** @returns the tenant of a delivery, for an operator @throws ServiceError `not_found` */
  findTenantId = async (queryable: Queryable, id: string): Promise<string> => {
    const found = await store.findTenant(queryable, id);
    if (found === undefined)
      throw new ServiceError('not_found', { detail: `There is no delivery with the id ${id}.` });
    return found.tenantId;
  };

  /**
   * Cancels deliveries of a subscription that have no attempt yet, the oldest first, in one statement.
   * @param options.onlyWhileInactive cancels nothing when the subscription is active
   * @returns how many, and whether there may be more
   */
  cancelUntried = async (
    unit: Transaction,
    subscriptionId: string,
    { onlyWhileInactive }: { onlyWhileInactive: boolean },
  ): Promise<{ canceled: number; more: boolean }> => {
    const canceled = await store.cancelUntried(unit, subscriptionId, !onlyWhileInactive, CHUNK);
    return { canceled, more: canceled === CHUNK };
  };

  /** @returns whether the tenant has this subscription; true when `id` is undefined. One indexed read. */
  hasSubscription = async (context: RequestContext, id: string | undefined): Promise<boolean> =>
    id === undefined ||
    (await hasSubscription(context.transaction ?? this.needs.database, context.tenant.id, id));

  /** Returns whether the tenant has this delivery, and it is of the subscription where one is named. */
  exists = (context: RequestContext, id: string, subscriptionId?: string | undefined): Promise<boolean> =>
    store.exists(
      context.transaction ?? this.needs.database,
      { tenantId: context.tenant.id, subscriptionId },
      id,
    );

  /** Lists the deliveries of an event. */
  listOfEvent = store.listOfEvent;

  /** Like `get`, for an operator. @throws ServiceError `not_found` */
  findOfTenant = (tenantId: string, id: string): Promise<DeliveryDetails> =>
    readDetails(this.needs.database, { tenantId }, id);

  /**
   * Makes an unfinished delivery due now, or replays an ended one: attempt numbers go on, the schedule starts again.
   * A hold of its endpoint ends. While the subscription is inactive the delivery waits.
   * @throws ServiceError `not_found`, `conflict` when the subscription is deleted, `policy_denied` for a delivery of
   *   another client's stream
   */
  retry = (context: RequestContext, id: string, subscriptionId?: string | undefined) =>
    this.#change(context, { id, subscriptionId }, 'retry');

  /**
   * Cancels a delivery. An attempt under way may finish; a repetition changes nothing.
   * @throws ServiceError `not_found`, `conflict` when the delivery was delivered or has failed, `policy_denied` for a
   *   delivery of another client's stream
   */
  cancel = (context: RequestContext, id: string, subscriptionId?: string | undefined) =>
    this.#change(context, { id, subscriptionId }, 'cancel');

  /** Changes one delivery, writes the audit entry, and returns the delivery as it is then. */
  #change = (
    context: Actor,
    { id, subscriptionId, reason, generation }: Target,
    step: DeliveryStep,
  ): Promise<DeliveryRecord> =>
    this.needs.database.transaction(context, async (transaction) => {
      const scope = await scopeOf(transaction, context, subscriptionId);
      const before = await find(transaction, scope, id);
      if (context.principal !== undefined) await checkReceiver(transaction, context.principal, before);
      const action = await this.#steps[step](transaction, {
        ...before,
        tenantId: scope.tenantId,
        unfinished: generation,
      });
      if (action === undefined) return before;
      const target = { type: 'delivery', id };
      const why = reason === undefined ? {} : { reason };
      const data = { subscription_id: before.subscriptionId, event_id: before.eventId, ...why };
      await this.needs.records.write(transaction, context, {
        audit: [{ action, outcome: 'success', target, data }],
      });
      transaction.afterCommit(() => this.needs.notifier.poke());
      return find(transaction, scope, id);
    });
}

async function scopeOf(
  queryable: Queryable,
  context: Actor,
  subscriptionId: string | undefined,
): Promise<DeliveryScope> {
  const tenantId = context.tenant.id;
  if (subscriptionId === undefined) return { tenantId };
  if (!(await hasSubscription(queryable, tenantId, subscriptionId)))
    throw new ServiceError('not_found', { detail: 'There is no subscription with this id.' });
  return { tenantId, subscriptionId };
}

async function find(queryable: Queryable, scope: DeliveryScope, id: string): Promise<DeliveryRecord> {
  const record = await store.find(queryable, scope, id);
  if (record === undefined)
    throw new ServiceError('not_found', { detail: 'There is no delivery with this id.' });
  return record;
}

/** A stream is its receiver's: another client could otherwise keep a security event from it. */
async function checkReceiver(
  unit: Transaction,
  { clientId }: Pick<Principal, 'clientId'>,
  { subscriptionId }: DeliveryRecord,
): Promise<void> {
  const receiver = (await store.findReceiver(unit, subscriptionId))?.receiver ?? null;
  if (receiver !== null && receiver !== clientId)
    throw new ServiceError('policy_denied', { detail: 'The delivery is of a stream of another client.' });
}

async function readDetails(queryable: Queryable, scope: DeliveryScope, id: string): Promise<DeliveryDetails> {
  const record = await find(queryable, scope, id);
  const payload = await store.findPayload(queryable, id, scope.tenantId);
  const attempts = await store.listAttempts(queryable, id, scope.tenantId);
  return {
    ...record,
    payload: payload === undefined ? null : JSON.parse(payload.body.toString('utf8')),
    attempts,
  };
}
