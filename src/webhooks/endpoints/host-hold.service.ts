// Hosts that an operator holds: nothing is sent there, whoever subscribes. It must never open an endpoint for another reason than that.

import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { EndpointChange } from './endpoint.store.ts';
import type { FailingHost, HeldHost, HostHold } from './host-hold.store.ts';
import * as store from './host-hold.store.ts';
import type { HoldLength } from './host-hold.ts';

export type { EndpointChange } from './endpoint.store.ts';
export type { FailingHost, HeldHost, HostHold } from './host-hold.store.ts';

/**
 * Holds of hosts. Everything but the lists runs in the caller's transaction, which must not hold an endpoint already.
 * @param notifier wakes the relays when endpoints have opened @param commands tells the workflows `endpointRecovery`
 */
export function createHostHoldService({
  notifier,
  commands,
}: {
  notifier?: { poke(): void } | undefined;
  commands?: Pick<WorkflowCommandService, 'add'> | undefined;
}) {
  const tell = async (unit: Transaction, changes: readonly EndpointChange[]): Promise<void> => {
    const told = changes.filter((change) => change.tell);
    const workflow = 'endpointRecovery';
    await commands?.add(
      unit,
      told.map(({ tenantId, subscriptionId: entityId }) => ({ tenantId, workflow, entityId })),
    );
  };

  const opened = async (
    unit: Transaction,
    changes: readonly EndpointChange[],
  ): Promise<readonly EndpointChange[]> => {
    await tell(unit, changes);
    unit.afterCommit(() => notifier?.poke());
    return changes;
  };

  return {
    /**
     * Has a new or changed subscription keep to the holds of the host that it points to now, and to no other's.
     * @param hosts.before the host that it pointed to until now
     * @returns the hold that it has come to, if any
     */
    follow: async (
      unit: Transaction,
      subscriptionId: string,
      hosts: { host: string; before?: string | undefined },
    ): Promise<HeldHost | undefined> => {
      const change = await store.follow(unit, subscriptionId, hosts);
      if (change !== undefined) await opened(unit, [{ ...change, subscriptionId }]);
      return store.find(unit, hosts.host);
    },

    /**
     * Holds a host, in place of an earlier hold: no attempt begins after the commit; one under way may finish.
     * @returns the endpoints' endpoints
     */
    hold: async (
      unit: Transaction,
      host: string,
      hold: { length: HoldLength; reason: string; operator: string },
    ): Promise<readonly EndpointChange[]> => {
      await store.lock(unit, host);
      await store.hold(unit, host, hold);
      const changes = await store.holdEndpoints(unit, host);
      await tell(unit, changes);
      return changes;
    },

    /** Ends a hold: what has waited goes out, paced, the oldest first. @returns the endpoints' endpoints, undefined when it is not held */
    release: async (unit: Transaction, host: string): Promise<readonly EndpointChange[] | undefined> => {
      await store.lock(unit, host);
      if (!(await store.end(unit, host))) return undefined;
      return opened(unit, await store.releaseEndpoints(unit, host));
    },

    /**
     * Lets what waits for the host's endpoints out now, paced, also where an endpoint asked for a pause or is down.
     * @returns their endpoints; undefined when the host is held
     */
    retry: async (unit: Transaction, host: string): Promise<readonly EndpointChange[] | undefined> => {
      await store.lock(unit, host);
      if (await store.isHeld(unit, host)) return undefined;
      return opened(unit, await store.retryEndpoints(unit, host));
    },

    /** Makes deliveries due that wait for a time, some at once. @returns their ids, none when there are no more */
    hasten: async (
      unit: Transaction,
      subscriptionIds: readonly string[],
      page: { after: string; limit: number },
    ): Promise<string[]> => {
      const ids = await store.hasten(unit, subscriptionIds, page);
      unit.afterCommit(() => notifier?.poke());
      return ids;
    },

    /** The holds in force, the oldest first. */
    list: (queryable: Queryable): Promise<HostHold[]> => store.list(queryable),

    /** Where endpoints fail by which class of errors, those with most first. */
    listFailing: (
      queryable: Queryable,
      filter: { errorClass: string | undefined; limit: number },
    ): Promise<FailingHost[]> => store.listFailing(queryable, filter),
  };
}

export type HostHoldService = ReturnType<typeof createHostHoldService>;
