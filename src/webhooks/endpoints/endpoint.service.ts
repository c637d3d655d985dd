// Endpoints for other rooms. No delivery is changed here: deliveries that wait for an endpoint have rows of the outbox,
// which relays can claim when it opens.

import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { EndpointChange, EndpointRow } from './endpoint.store.ts';
import * as store from './endpoint.store.ts';
import type { EndpointFailure, EndpointHealthStore } from './endpoint-health.store.ts';

export type { EndpointRow } from './endpoint.store.ts';

/** Enqueues a command for the workflow endpointRecovery of each changed endpoint that must be signalled. */
export async function enqueueRecovery(
  commands: Pick<WorkflowCommandService, 'add'> | undefined,
  unit: Transaction,
  changes: readonly EndpointChange[],
): Promise<void> {
  const workflow = 'endpointRecovery';
  await commands?.add(
    unit,
    changes
      .filter(({ signal }) => signal)
      .map(({ tenantId, subscriptionId: entityId }) => ({ tenantId, workflow, entityId })),
  );
}

/**
 * The endpoints. All functions but `read` and `saveSpeeds` run in the caller's transaction.
 * @param options.notifier notifies the relays when an endpoint has opened; they also poll
 * @param options.commands enqueues signals to the workflow endpointRecovery, which shows trouble and acts on it;
 *   endpoints open without it
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
  /** @param opened the relays can claim deliveries of these endpoints after the commit */
  const announce = async (
    unit: Transaction,
    changes: readonly EndpointChange[],
    { opened }: { opened: boolean },
  ): Promise<void> => {
    if (opened) unit.afterCommit(() => notifier?.poke());
    await enqueueRecovery(commands, unit, changes);
  };

  return {
    /** Makes the endpoint of a new subscription. */
    create: (
      unit: Queryable,
      endpoint: { subscriptionId: string; tenantId: string; active: boolean; rate: number | null },
    ): Promise<void> => store.insert(unit, endpoint),

    /**
     * Closes or opens an endpoint by its subscription's flag. No attempt begins after the commit that closes it; one
     * under way may finish. Source: Specification, "Webhook subscription" (states).
     */
    setActive: async (
      unit: Transaction,
      subscriptionId: string,
      active: boolean,
    ): Promise<{ changed: boolean }> => {
      const change = await store.setActive(unit, subscriptionId, { active });
      if (change !== undefined) await announce(unit, [change], { opened: active });
      return { changed: change !== undefined };
    },

    /** Closes an endpoint that has only failed for this many days; any other endpoint stays unchanged. */
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
    remove: async (unit: Transaction, subscriptionId: string): Promise<void> => {
      const change = await store.markDeleted(unit, subscriptionId);
      if (change !== undefined) await announce(unit, [change], { opened: false });
    },

    /** Ends a hold when a person has asked for a retry or changed the URL. */
    endHold: async (unit: Transaction, subscriptionId: string): Promise<void> => {
      const change = await store.open(unit, subscriptionId);
      if (change !== undefined) await announce(unit, [change], { opened: true });
    },

    /**
     * Closes the endpoints of a suspended tenant, or opens them again: nothing else does. No attempt begins after the
     * commit that closes them; one under way may finish. Waiting deliveries go out paced, the oldest first.
     * @returns how many endpoints
     */
    setTenantHeld: async (unit: Transaction, tenantId: string, held: boolean): Promise<number> => {
      const changes = await (held ? store.holdTenant : store.releaseTenant)(unit, tenantId);
      await announce(unit, changes, { opened: !held });
      return changes.length;
    },

    /** Notes a failed attempt, which may hold or close the endpoint. */
    noteFailure: async (unit: Transaction, failure: EndpointFailure): Promise<void> => {
      const change = await health.fail(unit, failure);
      if (change !== undefined) await announce(unit, [change], { opened: false });
    },

    /**
     * Notes that an endpoint which had failed has taken a delivery: the waiting ones go out, paced, the oldest first.
     */
    noteSuccess: async (unit: Transaction, subscriptionId: string): Promise<void> => {
      const change = await health.recover(unit, subscriptionId);
      await announce(unit, change === undefined ? [] : [change], { opened: true });
    },

    /** Keeps how fast receivers answer, for processes that have made no attempts there. */
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
