// What follows from each change of a subscription, be it a webhook's or a stream: the hold of its host, its endpoint,
// its records, and the end of what it holds.

import type { AuditContext } from '../../audit/audit.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Tenant } from '../../platform/context.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { DeliveryService } from '../deliveries/delivery.service.ts';
import type { EndpointService } from '../endpoints/endpoint.service.ts';
import type { HostHoldService } from '../endpoints/host-hold.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import type { NewSubscriptionRow, SubscriptionRow } from './subscription.model.ts';
import type { SubscriptionChanges } from './subscription.store.ts';
import * as store from './subscription.store.ts';
import { newsOfStop } from './subscription.ts';

type Verb =
  | 'created'
  | 'updated'
  | 'activated'
  | 'deactivated'
  | 'deleted'
  | 'secret_rotation_started'
  | 'secret_rotated';

type Described = Pick<SubscriptionRow, 'id' | 'host' | 'eventTypes'> &
  Partial<Pick<SubscriptionRow, 'streamAudience'>>;

export type SubscriptionChangeNeeds = {
  endpoints: Pick<EndpointService, 'create' | 'setActive' | 'endHold' | 'remove'>;
  hostHolds: Pick<HostHoldService, 'follow' | 'cancel'>;
  deliveries: Pick<DeliveryService, 'cancelUnfinished'>;
  records: Pick<RecordService, 'write'>;
  tenants: Pick<TenantService, 'isSuspended' | 'subscriptionLimit'>;
};

/** All functions run in the caller's transaction, which has locked the row of a subscription that is there already. */
export class SubscriptionChangeService extends Service<SubscriptionChangeNeeds> {
  /**
   * Admits one subscription more, before anything else is read or written. Creations of one tenant wait for each other.
   * @throws ServiceError `conflict` when the tenant has as many as it may
   */
  admit = async (
    unit: Transaction,
    { id, subscriptionLimit: limit = this.needs.tenants.subscriptionLimit }: Tenant,
  ): Promise<void> => {
    if ((await store.countLocked(unit, id)) < limit) return;
    throw new ServiceError('conflict', {
      detail: `The tenant may have ${limit} subscriptions, streams among them, and has as many. Delete one, or ask the operator for a higher limit.`,
    });
  };

  /** Inserts a subscription with its endpoint, after `admit`. Emits `webhook.endpoint.created`. */
  create = async (
    unit: Transaction,
    context: AuditContext,
    columns: NewSubscriptionRow,
    active: boolean,
  ): Promise<SubscriptionRow> => {
    const row = await store.insert(unit, columns);
    const { id, tenantId, host, rateLimit } = row;
    const held = await this.needs.tenants.isSuspended(unit, tenantId);
    await this.needs.endpoints.create(unit, id, tenantId, active, rateLimit, held);
    await this.#followHost(unit, context, id, { host });
    await recordChange(this.needs, unit, context, 'created', row);
    return row;
  };

  /**
   * Changes a subscription, and its endpoint: another host has its own hold, and another URL ends one. Records nothing.
   * @param change.active whether the endpoint is open; undefined leaves it
   * @returns the row after, and whether the endpoint was opened or closed
   */
  change = async (
    unit: Transaction,
    context: AuditContext,
    before: Pick<SubscriptionRow, 'id' | 'url' | 'host'>,
    { active, ...columns }: SubscriptionChanges & { readonly active: boolean | undefined },
  ): Promise<{ after: SubscriptionRow; changed: boolean }> => {
    const after = await store.update(unit, before.id, columns);
    // Locks the host's name before the endpoint, in the same order as an operator's hold.
    if (after.host !== before.host)
      await this.#followHost(unit, context, after.id, { host: after.host, before: before.host });
    const { changed } =
      active === undefined
        ? { changed: false }
        : await this.needs.endpoints.setActive(unit, after.id, active);
    if (after.url !== before.url) await this.needs.endpoints.endHold(unit, after.id);
    return { after, changed };
  };

  /** Marks as deleted, and cancels what is unfinished. Emits `webhook.endpoint.deleted`. */
  remove = async (unit: Transaction, context: AuditContext, id: string): Promise<void> => {
    const row = await store.markDeleted(unit, id);
    await this.needs.endpoints.remove(unit, id);
    await this.needs.deliveries.cancelUnfinished(unit, id);
    await recordChange(this.needs, unit, context, 'deleted', row);
  };

  /**
   * Writes the audit entry of deliveries that one statement has canceled.
   * @returns whether there are more
   */
  discard = async (
    unit: Transaction,
    context: AuditContext,
    id: string,
    { canceled, more }: { canceled: number; more: boolean },
  ): Promise<boolean> => {
    const target = { type: 'subscription', id };
    const data = { deliveries: canceled };
    if (canceled > 0)
      await this.needs.records.write(unit, context, {
        audit: [{ action: 'webhook.deliveries.discarded', outcome: 'success', target, data }],
      });
    return more;
  };

  /** Applies the hold of its host to the endpoint. A move to a held host gets an audit entry. */
  #followHost = async (
    unit: Transaction,
    { requestId, tenant }: AuditContext,
    id: string,
    hosts: { host: string; before?: string },
  ): Promise<void> => {
    const hold = await this.needs.hostHolds.follow(unit, id, hosts);
    if (hold === undefined) return;
    const { host, until, reason, operator, heldAt } = hold;
    const target = { type: 'host', id: host };
    const times = { since: heldAt.toISOString(), ...(until === null ? {} : { until: until.toISOString() }) };
    const data = { reason, ...times, endpoints: 1, subscription_id: id };
    const actor = { kind: 'operator', id: operator } as const;
    const context = { requestId, tenant, address: 'local', actor } as const;
    await this.needs.records.write(unit, context, {
      audit: [{ action: 'webhook.host.held', outcome: 'success', target, data }],
    });
  };
}

/** Writes the audit entry of a change, and its event, which the subscription itself does not get. */
export async function recordChange(
  { records }: Pick<SubscriptionChangeNeeds, 'records'>,
  unit: Transaction,
  context: AuditContext,
  verb: Verb,
  { id, host, eventTypes, streamAudience = null }: Described,
  more: { fields?: string[]; reason?: string; overlap_ends_at?: string } = {},
): Promise<void> {
  const type = `webhook.endpoint.${verb}`;
  const target = { type: 'subscription', id };
  const data = { subscription_id: id, host, event_types: [...eventTypes], ...more };
  await records.write(unit, context, {
    audit: [{ action: type, outcome: 'success', target, data: { host, ...more } }],
    events: [{ type, data, exceptSubscription: id }, ...newsOfStop({ id, streamAudience }, more.reason)],
  });
}
