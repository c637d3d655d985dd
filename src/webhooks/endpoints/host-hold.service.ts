// Holds hosts for an operator: no attempt to a held host begins, for any tenant.
// docs/decisions/0019-operators.md

import type { Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import { cancelWaiting, hasten } from '../rows/delivery-row.store.ts';
import { announce, type EndpointNeeds } from './endpoint.service.ts';
import type { EndpointChange } from './endpoint.store.ts';
import type { HeldHost } from './host-hold.store.ts';
import * as store from './host-hold.store.ts';
import type { HoldLength } from './host-hold.ts';

export type { EndpointChange } from './endpoint.store.ts';
export type { HeldHost, HostHold } from './host-hold.store.ts';
export type { FailingHost } from './host-hold.ts';

export type HostHoldNeeds = Pick<EndpointNeeds, 'notifier' | 'commands'>;

/**
 * All functions except the lists run in the caller's transaction, which must not have locked an endpoint before.
 * @param options.notifier notifies the relays when endpoints have opened
 * @param options.commands enqueues signals to the workflows endpointRecovery
 */
export class HostHoldService extends Service<HostHoldNeeds> {
  /**
   * Applies the hold of its host to a new or changed subscription, and removes the hold of a former host.
   * @param hosts.before the host of the former URL
   * @returns the hold of the new host, if any
   */
  follow = async (
    unit: Transaction,
    subscriptionId: string,
    hosts: { host: string; before?: string | undefined },
  ): Promise<HeldHost | undefined> => {
    const change = await store.follow(unit, subscriptionId, hosts);
    if (change !== undefined) await announce(this.needs, unit, [change], { opened: true });
    return store.find(unit, hosts.host);
  };

  /**
   * Holds a host, in place of an earlier hold. After the commit no attempt begins; an attempt under way may finish.
   * @returns the endpoints of the host
   */
  hold = async (
    unit: Transaction,
    host: string,
    hold: { length: HoldLength; reason: string; operator: string },
  ): Promise<readonly EndpointChange[]> => {
    await store.lock(unit, host);
    await store.hold(unit, host, hold);
    return announce(this.needs, unit, await store.holdEndpoints(unit, host), { opened: false });
  };

  /**
   * Ends a hold. Waiting deliveries are sent paced, the oldest first.
   * @returns the endpoints of the host; undefined when it is not held
   */
  release = async (unit: Transaction, host: string): Promise<readonly EndpointChange[] | undefined> => {
    await store.lock(unit, host);
    if (!(await store.end(unit, host))) return undefined;
    return announce(this.needs, unit, await store.releaseEndpoints(unit, host), { opened: true });
  };

  /**
   * Opens the host's endpoints, paced, including those that are down or held by `Retry-After`.
   * @returns the endpoints for which deliveries wait; undefined when the host is held
   */
  retry = async (unit: Transaction, host: string): Promise<readonly EndpointChange[] | undefined> => {
    await store.lock(unit, host);
    if (await store.isHeld(unit, host)) return undefined;
    return announce(this.needs, unit, await store.retryEndpoints(unit, host), { opened: true });
  };

  /** Makes a page of waiting deliveries due now. @returns their ids; empty after the last page */
  hasten = async (
    unit: Transaction,
    subscriptionIds: readonly string[],
    page: { after: string; limit: number },
  ): Promise<string[]> => {
    const ids = await hasten(unit, subscriptionIds, page);
    unit.afterCommit(() => this.needs.notifier?.poke());
    return ids;
  };

  /**
   * Cancels a page of waiting deliveries. Their workflows end, and those of endpoints read their crowds again.
   * @returns the ids of the deliveries; empty after the last page
   */
  cancel = async (
    unit: Transaction,
    subscriptionIds: readonly string[],
    { after, limit }: { after: string; limit: number },
  ): Promise<string[]> => {
    const canceled = await cancelWaiting(unit, subscriptionIds, after, limit);
    const crowds = new Map(canceled.filter(({ crowded }) => crowded).map((of) => [of.subscriptionId, of]));
    const changes = [...crowds.values()].map((endpoint) => ({ ...endpoint, signal: true }));
    await announce(this.needs, unit, changes, { opened: true });
    return canceled.map(({ id }) => id);
  };

  /** Locks the host against holds and moving subscriptions until the transaction ends. */
  lock = store.lock;

  /** Lists the endpoints of a host for which deliveries wait, all or those of one tenant. */
  listWaiting = store.listWaiting;

  /** Lists hosts whose endpoints fail, with all their codes, those with most endpoints first. */
  listFailing = store.listFailing;

  /** Lists the holds in force, the oldest first. */
  list = store.list;
}
