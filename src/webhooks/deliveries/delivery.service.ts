// Lists, retries and cancels deliveries for tenants and operators. The relay and the workflow make the attempts.

import { type AuditContext, type OperatorRequest, serviceContext } from '../../audit/audit.ts';
import type { Principal, RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { bindUseCases } from '../../platform/use-cases.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { RecordService } from '../intake/record.service.ts';
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
  readonly generation?: number | undefined;
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
export function createDeliveryService(needs: DeliveryNeeds) {
  const tools = prepareDelivery(needs);
  return {
    ...bindUseCases(tools, { list, get, operate, actOn, cancelUnfinished }),
    findTenantId,
    cancelUntried,
    /** @returns whether the tenant has this subscription; true when `id` is undefined. One indexed read. */
    hasSubscription: async (context: RequestContext, id: string | undefined): Promise<boolean> =>
      id === undefined ||
      (await store.hasSubscription(context.transaction ?? tools.database, context.tenant.id, id)),
    exists: (context: RequestContext, id: string, subscriptionId?: string | undefined): Promise<boolean> =>
      store.exists(
        context.transaction ?? tools.database,
        { tenantId: context.tenant.id, subscriptionId },
        id,
      ),
    listOfEvent: store.listOfEvent,
    /** Like `get`, for an operator. @throws ServiceError `not_found` */
    findOfTenant: (tenantId: string, id: string): Promise<DeliveryDetails> =>
      readDetails(tools.database, { tenantId }, id),
    /**
     * Makes an unfinished delivery due now, or replays an ended one: attempt numbers go on, the schedule starts again.
     * A hold of its endpoint ends. While the subscription is inactive the delivery waits.
     * @throws ServiceError `not_found`, `conflict` when the subscription is deleted, `policy_denied` for a delivery of
     *   another client's stream
     */
    retry: (context: RequestContext, id: string, subscriptionId?: string | undefined) =>
      change(tools, context, { id, subscriptionId }, 'retry'),
    /**
     * Cancels a delivery. An attempt under way may finish; a repetition changes nothing.
     * @throws ServiceError `not_found`, `conflict` when the delivery was delivered or has failed, `policy_denied` for a
     *   delivery of another client's stream
     */
    cancel: (context: RequestContext, id: string, subscriptionId?: string | undefined) =>
      change(tools, context, { id, subscriptionId }, 'cancel'),
  };
}

export type DeliveryService = ReturnType<typeof createDeliveryService>;

type DeliveryTools = ReturnType<typeof prepareDelivery>;

function prepareDelivery(needs: DeliveryNeeds) {
  /** @returns the action of the audit log; undefined when nothing was to do */
  const steps = {
    retry: async (
      transaction: Transaction,
      { tenantId, id, subscriptionId, generation }: Step,
    ): Promise<string | undefined> => {
      // Locks the endpoint before the delivery, in the same order as attempts.
      await needs.endpoints.endHold(transaction, subscriptionId);
      const was = await store.retry(transaction, tenantId, id, newId(), generation);
      if (was === undefined) {
        const { status } = await find(transaction, { tenantId }, id);
        const isOver = generation !== undefined && !['pending', 'retrying', 'held'].includes(status);
        const detail = isOver
          ? `The delivery has ended: it is ${status}. Its route replays it.`
          : 'The subscription of this delivery is deleted, or the delivery has begun anew.';
        throw new ServiceError('conflict', { detail });
      }
      return was === 'ended' ? 'webhook.delivery.replayed' : 'webhook.delivery.retried';
    },

    cancel: async (
      transaction: Transaction,
      { tenantId, id, status: before }: Step,
    ): Promise<string | undefined> => {
      if (before === 'canceled') return undefined;
      if (await store.cancel(transaction, tenantId, id)) return 'webhook.delivery.canceled';
      const { status } = await find(transaction, { tenantId }, id);
      if (status === 'canceled') return undefined;
      throw new ServiceError('conflict', { detail: `The delivery has ended: it is ${status}.` });
    },
  };
  return { ...needs, steps };
}

/** Lists a page, the newest first. @throws ServiceError `not_found` */
async function list(
  { database }: DeliveryTools,
  context: RequestContext,
  request: PageRequest & DeliveryFilters,
  subscriptionId?: string | undefined,
): Promise<Page<DeliveryRecord>> {
  const queryable = context.transaction ?? database;
  return store.list(queryable, await scopeOf(queryable, context, subscriptionId), request);
}

/** Reads one delivery with its body and its attempts. @throws ServiceError `not_found` */
async function get(
  { database }: DeliveryTools,
  context: RequestContext,
  id: string,
  subscriptionId?: string | undefined,
): Promise<DeliveryDetails> {
  const queryable = context.transaction ?? database;
  return readDetails(queryable, await scopeOf(queryable, context, subscriptionId), id);
}

/**
 * Retries or cancels for an operator, who sent an update to the delivery's workflow. A delivery that has ended
 * since then is not replayed, so that a batch of updates does not send delivered events again.
 * @throws ServiceError as `retry` and `cancel`
 */
async function operate(
  needs: DeliveryTools,
  { tenantId, id, generation }: OperatedDelivery,
  step: DeliveryStep,
  { by, reason }: OperatorRequest = {},
): Promise<void> {
  const actor = {
    ...serviceContext({ id: tenantId }, newId()),
    actor: { kind: 'operator', id: by } as const,
  };
  await change(needs, actor, { id, generation, reason }, step);
}

/** @returns the tenant of a delivery, for an operator @throws ServiceError `not_found` */
async function findTenantId(queryable: Queryable, id: string): Promise<string> {
  const tenantId = await store.findTenantId(queryable, id);
  if (tenantId === undefined)
    throw new ServiceError('not_found', { detail: `There is no delivery with the id ${id}.` });
  return tenantId;
}

/**
 * Retries or cancels within an operator act, which makes the audit entry. An ended delivery is replayed.
 * @returns the delivery before and after, and the action of the audit log: undefined when nothing was to do
 * @throws ServiceError as `retry` and `cancel`
 */
async function actOn(
  { steps, notifier }: DeliveryTools,
  unit: Transaction,
  { tenantId, id }: { tenantId: string; id: string },
  step: DeliveryStep,
): Promise<{ before: DeliveryRecord; after: DeliveryRecord; action: string | undefined }> {
  const before = await find(unit, { tenantId }, id);
  const action = await steps[step](unit, { ...before, tenantId });
  unit.afterCommit(() => notifier.poke());
  return { before, after: await find(unit, { tenantId }, id), action };
}

/**
 * Cancels deliveries of a subscription that have no attempt yet, the oldest first, in one statement.
 * @param options.onlyWhileInactive cancels nothing when the subscription is active
 * @returns how many, and whether there may be more
 */
async function cancelUntried(
  unit: Transaction,
  subscriptionId: string,
  { onlyWhileInactive }: { onlyWhileInactive: boolean },
): Promise<{ canceled: number; more: boolean }> {
  const options = { onlyWhileInactive, limit: CHUNK };
  const canceled = await store.cancelUntried(unit, subscriptionId, options);
  return { canceled, more: canceled === CHUNK };
}

/**
 * Cancels unfinished deliveries of a closed subscription in one statement, and enqueues commands for their workflows.
 * Where the subscription is deleted the sweep cancels the rest, which already show as canceled.
 * @returns how many, and whether there may be more
 */
async function cancelUnfinished(
  { notifier }: DeliveryTools,
  unit: Transaction,
  subscriptionId: string,
): Promise<{ canceled: number; more: boolean }> {
  const canceled = await store.cancelUnfinished(unit, subscriptionId, CHUNK);
  if (canceled > 0) unit.afterCommit(() => notifier.poke());
  return { canceled, more: canceled === CHUNK };
}

async function scopeOf(
  queryable: Queryable,
  context: Actor,
  subscriptionId: string | undefined,
): Promise<DeliveryScope> {
  const tenantId = context.tenant.id;
  if (subscriptionId === undefined) return { tenantId };
  if (!(await store.hasSubscription(queryable, tenantId, subscriptionId)))
    throw new ServiceError('not_found', { detail: 'There is no subscription with this id.' });
  return { tenantId, subscriptionId };
}

async function find(queryable: Queryable, scope: DeliveryScope, id: string): Promise<DeliveryRecord> {
  const record = await store.find(queryable, scope, id);
  if (record === undefined)
    throw new ServiceError('not_found', { detail: 'There is no delivery with this id.' });
  return record;
}

/** Changes one delivery, writes the audit entry, and returns the delivery as it is then. */
function change(
  { database, steps, records, notifier }: DeliveryTools,
  context: Actor,
  { id, subscriptionId, reason, generation }: Target,
  step: DeliveryStep,
): Promise<DeliveryRecord> {
  return database.transaction(context, async (transaction) => {
    const scope = await scopeOf(transaction, context, subscriptionId);
    const before = await find(transaction, scope, id);
    if (context.principal !== undefined) await checkReceiver(transaction, context.principal, before);
    const action = await steps[step](transaction, { ...before, tenantId: scope.tenantId, generation });
    if (action === undefined) return before;
    const target = { type: 'delivery', id };
    const why = reason === undefined ? {} : { reason };
    const data = { subscription_id: before.subscriptionId, event_id: before.eventId, ...why };
    await records.write(transaction, context, { audit: [{ action, outcome: 'success', target, data }] });
    transaction.afterCommit(() => notifier.poke());
    return find(transaction, scope, id);
  });
}

/** A stream is its receiver's: another client could otherwise keep a security event from it. */
async function checkReceiver(
  unit: Transaction,
  { clientId }: Pick<Principal, 'clientId'>,
  { subscriptionId }: DeliveryRecord,
): Promise<void> {
  const receiver = await store.findReceiver(unit, subscriptionId);
  if (receiver !== null && receiver !== clientId)
    throw new ServiceError('policy_denied', { detail: 'The delivery is of a stream of another client.' });
}

async function readDetails(queryable: Queryable, scope: DeliveryScope, id: string): Promise<DeliveryDetails> {
  const record = await find(queryable, scope, id);
  const payload = await store.findPayload(queryable, scope.tenantId, id);
  const attempts = await store.listAttempts(queryable, scope.tenantId, id);
  return {
    ...record,
    payload: payload === undefined ? null : JSON.parse(payload.toString('utf8')),
    attempts,
  };
}
