// A subscription's gate as other rooms use it: open, held, or closed. It must never touch a delivery: whoever waits for an endpoint
// has an outbox row that becomes claimable when the endpoint opens.

import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { EndpointChange, EndpointRow, EndpointTelling } from './endpoint.store.ts';
import * as store from './endpoint.store.ts';
import type { EndpointFailure, EndpointHealthStore } from './endpoint-health.store.ts';

export type { EndpointRow } from './endpoint.store.ts';

/**
 * The endpoints. Everything but `read` and `saveSpeeds` runs in the transaction of the subscription's own change.
 * @param options.notifier wakes the relays when an endpoint has opened; they also find out by themselves
 * @param options.commands tells the workflow `endpointRecovery` of what happens to an endpoint in trouble; nothing depends on its hearing it
 */
export function createEndpointService({
  health,
  notifier,
  commands,
}: {
  health: EndpointHealthStore;
  notifier?: { poke(): void } | undefined;
  commands?: Pick<WorkflowCommandService, 'add'> | undefined;
}) {
  const announce = (unit: Transaction, opened: boolean): void => {
    if (opened) unit.afterCommit(() => notifier?.poke());
  };

  const tell = async (
    unit: Transaction,
    entityId: string,
    change: EndpointTelling | undefined,
  ): Promise<void> => {
    if (change?.tell !== true) return;
    await commands?.add(unit, [{ tenantId: change.tenantId, workflow: 'endpointRecovery', entityId }]);
  };

  const tellAll = async (unit: Transaction, changes: readonly EndpointChange[]): Promise<void> => {
    const told = changes.filter((change) => change.tell);
    const workflow = 'endpointRecovery';
    await commands?.add(
      unit,
      told.map(({ tenantId, subscriptionId: entityId }) => ({ tenantId, workflow, entityId })),
    );
  };

  return {
    /** Makes the endpoint of a new subscription. */
    create: (
      unit: Queryable,
      endpoint: { subscriptionId: string; tenantId: string; active: boolean; rate: number | null },
    ): Promise<void> => store.insert(unit, endpoint),

    /**
     * Closes or opens an endpoint by its subscription's flag. No attempt begins after the commit that closes it; one under way may
     * finish. Source: Specification, "Webhook subscription" (states).
     */
    setActive: async (
      unit: Transaction,
      subscriptionId: string,
      active: boolean,
    ): Promise<{ changed: boolean }> => {
      const change = await store.setActive(unit, subscriptionId, { active });
      announce(unit, change !== undefined && active);
      await tell(unit, subscriptionId, change);
      return { changed: change !== undefined };
    },

    /** Closes the endpoint of an endpoint that has done nothing but fail for so many days; any other is left as it is. */
    deactivateFailing: async (
      unit: Queryable,
      subscriptionId: string,
      failingForDays: number,
    ): Promise<{ changed: boolean }> => {
      const change = await store.setActive(unit, subscriptionId, { active: false, failingForDays });
      return { changed: change !== undefined };
    },

    /** Limits how many attempts begin in a second, of all processes together; null takes the limit away. */
    setRate: (unit: Queryable, subscriptionId: string, rate: number | null): Promise<void> =>
      store.setRate(unit, subscriptionId, rate),

    /** Closes a deleted subscription's endpoint for good; its unfinished deliveries count as canceled from then on. */
    remove: async (unit: Transaction, subscriptionId: string): Promise<void> =>
      tell(unit, subscriptionId, await store.markDeleted(unit, subscriptionId)),

    /** Ends a hold at once, when somebody asked for a retry or changed the URL. */
    endHold: async (unit: Transaction, subscriptionId: string): Promise<{ changed: boolean }> => {
      const change = await store.open(unit, subscriptionId);
      announce(unit, change !== undefined);
      await tell(unit, subscriptionId, change);
      return { changed: change !== undefined };
    },

    /**
     * Closes the endpoints of a suspended tenant, or opens them again: nothing else does. No attempt begins after the commit that closes
     * them; one under way may finish. What has waited goes out paced, the oldest first.
     * @returns how many endpoints
     */
    setTenantHeld: async (unit: Transaction, tenantId: string, held: boolean): Promise<number> => {
      const changes = await (held ? store.holdTenant : store.releaseTenant)(unit, tenantId);
      announce(unit, !held);
      await tellAll(unit, changes);
      return changes.length;
    },

    /** Notes a failed attempt: its receiver may want to be left alone for a time, or be down. */
    noteFailure: async (unit: Transaction, failure: EndpointFailure): Promise<void> => {
      const { tenantId, subscriptionId } = failure;
      const state = await health.fail(unit, failure);
      await tell(unit, subscriptionId, state && { tenantId, tell: state.tell });
    },

    /** Notes that the receiver of an endpoint which had failed has taken a delivery: what waits goes out, paced, the oldest first. */
    noteSuccess: async (unit: Transaction, subscriptionId: string): Promise<void> => {
      await tell(unit, subscriptionId, await health.recover(unit, subscriptionId));
      announce(unit, true);
    },

    /** Keeps how fast receivers answer, for processes that have not seen it themselves. */
    saveSpeeds: (
      queryable: Queryable,
      speeds: readonly { endpoint: string; p90Ms: number }[],
    ): Promise<void> => store.saveSpeeds(queryable, speeds),

    /** @returns the endpoints of these subscriptions by subscription id */
    read: async (
      queryable: Queryable,
      subscriptionIds: readonly string[],
    ): Promise<ReadonlyMap<string, EndpointRow>> => {
      if (subscriptionIds.length === 0) return new Map();
      const rows = await store.read(queryable, subscriptionIds);
      return new Map(rows.map((row) => [row.subscriptionId, row]));
    },
  };
}

export type EndpointService = ReturnType<typeof createEndpointService>;
