// Creates, changes, tests and deletes subscriptions. A change, its audit entry and its event are one transaction. The
// event is not delivered to the subscription that it describes.

import { serviceContext } from '../../audit/audit.ts';
import type { RequestContext } from '../../platform/context.ts';
import { newSigningSecret } from '../../platform/crypto/opaque-secret.node.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { workThrough } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { DeliveryService } from '../deliveries/delivery.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { EndpointName } from '../endpoints/endpoint-state.ts';
import { whyNotProbed } from './probe-refusal.ts';
import type { SubscriptionRow } from './subscription.model.ts';
import type { SubscriptionChanges } from './subscription.store.ts';
import * as store from './subscription.store.ts';
import {
  BOUNDS,
  checkSecret,
  decideSignatures,
  decideSink,
  fieldsOf,
  headersFor,
  type NewSubscription,
  readFilters,
  readHeaders,
  readReceiverUrl,
  type SubscriptionPatch,
  TEST_EVENT,
  testDataOf,
} from './subscription.ts';
import {
  recordChange,
  type SubscriptionChangeNeeds,
  SubscriptionChangeService,
} from './subscription-change.service.ts';
import {
  type Subscription,
  SubscriptionReader,
  unknownSubscription,
} from './subscription-reading.service.ts';
import type { SubscriptionSealing } from './subscription-sealing.service.ts';

export type { NewSubscription, SubscriptionPatch } from './subscription.ts';
export type { Subscription, SubscriptionDetails } from './subscription-reading.service.ts';

/** The most deliveries that one transaction cancels. */
const CHUNK = 500;

export type SubscriptionNeeds = SubscriptionChangeNeeds & {
  database: Pick<Database, 'transaction' | 'query' | 'model'>;
  endpoints: EndpointService;
  sealing: SubscriptionSealing;
  /** Cancels deliveries that wait for a closed endpoint. */
  deliveries: Pick<DeliveryService, 'cancelUntried' | 'cancelUnfinished'>;
  /** Networks, besides public addresses, in which receivers may be. */
  admittedNetworks: readonly Network[];
};

/** The subscriptions of a tenant. Source: Specification, "Webhook subscription", "Webhook management". */
export class SubscriptionService extends Service<SubscriptionNeeds> {
  readonly #reader = new SubscriptionReader(this.needs);
  readonly #changes = new SubscriptionChangeService(this.needs);

  /**
   * Creates a subscription with its endpoint. Emits `webhook.endpoint.created`.
   * @returns the subscription, and the secret if it was generated; later answers do not contain it
   * @throws ServiceError `invalid_request`, `conflict` when the tenant has as many subscriptions as it may
   */
  create = (
    context: RequestContext,
    input: NewSubscription,
  ): Promise<{ subscription: Subscription; secret: string | undefined }> => {
    const { url, host } = readReceiverUrl(input.url, this.needs.admittedNetworks);
    const filters = readFilters(input.eventTypes);
    const headers = readHeaders(input.headers ?? {});
    const signatures = decideSignatures(input.signatures, headers);
    if (input.secret !== undefined) checkSecret(input.secret);
    const generated = input.secret === undefined ? newSigningSecret() : undefined;
    return this.needs.database.transaction(context, async (transaction) => {
      await this.#changes.admit(transaction, context.tenant);
      const id = newId();
      const columns = {
        id,
        tenantId: context.tenant.id,
        url,
        host,
        eventTypes: input.eventTypes,
        filters,
        envelope: input.envelope ?? 'plain',
        description: input.description ?? null,
        sink: decideSink(filters, input.sink),
        secretSealed: this.needs.sealing.sealSecret(id, generated ?? input.secret ?? ''),
        headersSealed: this.needs.sealing.sealHeaders(id, headers),
        signatures,
        maxAge: input.maxAge ?? BOUNDS.maxAge.usual,
        rateLimit: input.rateLimit ?? null,
        retryPolicy: input.retryPolicy ?? null,
        disableAfterDays: input.disableAfterDays ?? BOUNDS.disableAfterDays.usual,
      };
      const row = await this.#changes.create(transaction, context, columns, input.active ?? true);
      return { subscription: await this.#reader.show({ ...context, transaction }, row), secret: generated };
    });
  };

  /**
   * Changes the given fields. Deactivating closes the endpoint, activating opens it, and another URL ends a hold.
   * Another URL drops the stored headers whose values answers mask, unless the change has them.
   * With `held: 'discard'` the deliveries without an attempt are canceled before an inactive subscription is
   * activated. All other changes are made before that, so that none of them can be refused after deliveries were
   * canceled. Emits `webhook.endpoint.activated`, `deactivated` or `updated`; nothing when no field is given.
   * @throws ServiceError `not_found`, `invalid_request`
   */
  update = async (context: RequestContext, id: string, patch: SubscriptionPatch): Promise<Subscription> => {
    const found = await store.find(context.transaction ?? this.needs.database, context.tenant.id, id);
    if (found === undefined) throw unknownSubscription();
    if (fieldsOf(patch).length === 0) return this.#reader.show(context, found);
    this.#toChanges(found, patch);
    if (patch.held !== 'discard') return this.#change(context, id, patch);
    const { active, held, ...others } = patch;
    if (fieldsOf(others).length > 0) await this.#change(context, id, others);
    // Separate transactions, because there may be many deliveries. The endpoint is closed, so no attempt begins in
    // between.
    while (await this.#discard(context, id, { onlyWhileInactive: true }));
    return this.#change(context, id, { active, held });
  };

  /**
   * Deletes a subscription and cancels its unfinished deliveries. Emits `webhook.endpoint.deleted`.
   * @throws ServiceError `not_found`
   */
  remove = (context: RequestContext, id: string): Promise<void> =>
    this.needs.database.transaction(context, async (transaction) => {
      await lock(transaction, context, id);
      await this.#changes.remove(transaction, context, id);
    });

  /**
   * Sends an event only to this subscription, even if its filters do not match. The delivery is marked as a test.
   * @param eventType a type of the catalogue, whose example is sent; `webhook.test` by default
   * @throws ServiceError `not_found`, `subscription_inactive`, `invalid_request` for a type that is not in the
   *   catalogue
   */
  sendTest = (
    context: RequestContext,
    id: string,
    eventType: string = TEST_EVENT,
  ): Promise<{ deliveryId: string; eventId: string }> =>
    this.needs.database.transaction(context, async (transaction) => {
      const row = await store.find(transaction, context.tenant.id, id);
      const endpoint = (await this.needs.endpoints.read(transaction, [id])).get(id);
      if (row === undefined || endpoint === undefined) throw unknownSubscription();
      if (!endpoint.active)
        throw new ServiceError('subscription_inactive', {
          detail: 'The subscription is not active. Activate it before testing it.',
        });
      const data = testDataOf(eventType, id);
      const [emitted] = await this.needs.records.write(transaction, context, {
        events: [{ type: eventType, data, onlySubscription: id, test: true }],
      });
      if (emitted?.deliveryId === undefined) throw unknownSubscription();
      const target = { type: 'subscription', id };
      const { deliveryId, eventId } = emitted;
      await this.needs.records.write(transaction, context, {
        audit: [
          {
            action: 'webhook.test.sent',
            outcome: 'success',
            target,
            data: { delivery_id: deliveryId, event_type: eventType },
          },
        ],
      });
      return { deliveryId, eventId };
    });

  /**
   * Lets one delivery go out now to an endpoint that is held or down; if it is taken, the others follow.
   * @throws ServiceError `not_found`, `subscription_inactive`, `conflict` when there is nothing to probe
   */
  probe = (context: RequestContext, id: string): Promise<Subscription> =>
    this.needs.database.transaction(context, async (transaction) => {
      const row = await store.find(transaction, context.tenant.id, id);
      if (row === undefined) throw unknownSubscription();
      const inside = { ...context, transaction };
      const refusal = whyNotProbed((await this.#reader.show(inside, row)).endpoint);
      if (refusal !== undefined) throw refusal;
      const endpoint = { tenantId: context.tenant.id, subscriptionId: id };
      if (!(await this.needs.endpoints.probe(transaction, endpoint)))
        throw new ServiceError('conflict', { detail: 'The endpoint has just changed. Read it again.' });
      const target = { type: 'subscription', id };
      await this.needs.records.write(transaction, context, {
        audit: [{ action: 'webhook.endpoint.probed', outcome: 'success', target }],
      });
      return this.#reader.show(inside, row);
    });

  /**
   * Deactivates a subscription whose endpoint has answered 410. Emits `webhook.endpoint.deactivated`. An inactive or
   * deleted subscription is not changed.
   * @param unit the transaction that records the attempt
   */
  deactivateGone = async (unit: Transaction, { tenantId, subscriptionId }: EndpointName): Promise<void> => {
    const reason = 'gone';
    const row = await store.disable(unit, tenantId, subscriptionId, reason);
    if (row === undefined) return;
    await this.needs.endpoints.setActive(unit, subscriptionId, false);
    const context = serviceContext({ id: tenantId }, newId());
    await recordChange(this.needs, unit, context, 'deactivated', { id: subscriptionId, ...row }, { reason });
  };

  /**
   * Deactivates a subscription whose endpoint failed for `disableAfterDays`. Emits `webhook.endpoint.deactivated`.
   */
  deactivateFailing = ({ tenantId, subscriptionId }: EndpointName): Promise<void> =>
    this.needs.database.transaction({}, async (transaction) => {
      const row = await store.lockAny(transaction, tenantId, subscriptionId);
      if (row === undefined) return;
      const { changed } = await this.needs.endpoints.deactivateFailing(
        transaction,
        subscriptionId,
        row.disableAfterDays,
      );
      if (!changed) return;
      const reason = 'failing';
      const after = await store.update(transaction, subscriptionId, { disabledReason: reason });
      const context = serviceContext({ id: tenantId }, newId());
      await recordChange(this.needs, transaction, context, 'deactivated', after, { reason });
    });

  /** Returns whether the tenant has this subscription. */
  exists = this.#reader.exists;

  /** Returns a subscription. @throws ServiceError `not_found` */
  get = this.#reader.get;

  /** Returns a subscription with what its endpoint does now. @throws ServiceError `not_found` */
  getDetails = this.#reader.getDetails;

  /** Returns a page of subscriptions, newest first. */
  list = this.#reader.list;

  #toChanges = (row: SubscriptionRow, patch: SubscriptionPatch): SubscriptionChanges => {
    const filters = patch.eventTypes === undefined ? undefined : readFilters(patch.eventTypes);
    const { url, host } =
      patch.url === undefined ? row : readReceiverUrl(patch.url, this.needs.admittedNetworks);
    const before = this.needs.sealing.openHeaders(row.id, row.headersSealed);
    const kept = headersFor(url, { url: row.url, headers: before });
    const headers = patch.headers === undefined ? kept : readHeaders(patch.headers, kept);
    const changes = {
      url,
      host,
      eventTypes: patch.eventTypes,
      filters,
      envelope: patch.envelope,
      sink: decideSink(filters ?? row.filters, patch.sink, row.sink),
      description: patch.description,
      signatures: decideSignatures(patch.signatures, headers, row.signatures),
      maxAge: patch.maxAge,
      rateLimit: patch.rateLimit,
      retryPolicy: patch.retryPolicy,
      disableAfterDays: patch.disableAfterDays,
      headersSealed: headers === before ? undefined : this.needs.sealing.sealHeaders(row.id, headers),
      disabledReason: patch.active === true ? null : undefined,
    };
    return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  };

  #change = (context: RequestContext, id: string, patch: SubscriptionPatch): Promise<Subscription> =>
    this.needs.database.transaction(context, async (transaction) => {
      const before = await lock(transaction, context, id);
      const changes = this.#toChanges(before, patch);
      const { after, changed } = await this.#changes.change(transaction, context, before, {
        ...changes,
        active: patch.active,
      });
      if (patch.held === 'discard' && changed)
        while (await this.#discard({ ...context, transaction }, id, { onlyWhileInactive: false }));
      if (after.rateLimit !== before.rateLimit)
        await this.needs.endpoints.setRate(transaction, id, after.rateLimit);
      const verb = !changed ? 'updated' : patch.active ? 'activated' : 'deactivated';
      const fields = fieldsOf({ ...patch, headers: 'headersSealed' in changes ? {} : undefined });
      await recordChange(this.needs, transaction, context, verb, after, { fields });
      return this.#reader.show({ ...context, transaction }, after);
    });

  /**
   * Cancels all waiting deliveries for good, however they wait; an attempt under way may finish. A transaction for each
   * page, because there may be much, and records of attempts wait for the locked subscription.
   * @returns how many
   * @throws ServiceError `not_found`
   */
  cancelWaiting = (context: RequestContext, id: string): Promise<number> =>
    workThrough((after) =>
      this.needs.database.transaction(context, async (unit) => {
        await lock(unit, context, id);
        const ids = await this.needs.hostHolds.cancel(unit, [id], { after, limit: CHUNK });
        await this.#changes.discard(unit, context, id, { canceled: ids.length, more: true });
        return ids;
      }),
    );

  /** Cancels waiting deliveries in one statement, with an audit entry. @returns whether there are more */
  #discard = (
    context: RequestContext,
    id: string,
    options: { onlyWhileInactive: boolean },
  ): Promise<boolean> =>
    this.needs.database.transaction(context, async (unit) =>
      this.#changes.discard(unit, context, id, await this.needs.deliveries.cancelUntried(unit, id, options)),
    );
}

async function lock(transaction: Transaction, context: RequestContext, id: string) {
  const row = await store.lock(transaction, context.tenant.id, id);
  if (row === undefined) throw unknownSubscription();
  return row;
}
