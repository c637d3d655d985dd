// Changes endpoints for other rooms. It changes no delivery: deliveries that wait for an endpoint have rows of the
// outbox, which relays claim when the endpoint opens.

import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { EndpointChange, EndpointRow } from './endpoint.store.ts';
import * as store from './endpoint.store.ts';
import { listFailures } from './endpoint-failures.store.ts';
import type { EndpointHealthStore } from './endpoint-health.store.ts';
import type { EndpointFailure } from './endpoint-judgement.ts';
import { probeNow } from './endpoint-probe.store.ts';
import type { EndpointName } from './endpoint-state.ts';

export type { EndpointRow } from './endpoint.store.ts';
export type { EndpointFailures } from './endpoint-failures.store.ts';

/** Enqueues a command for the workflow endpointRecovery of each endpoint whose change asks for a signal. */
async function enqueueRecovery(
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

export type EndpointNeeds = {
  health: EndpointHealthStore;
  /** Notifies the relays when an endpoint has opened; relays also poll. */
  notifier?: { poke(): void } | undefined;
  /** Enqueues signals to the workflow endpointRecovery; endpoints open without it. */
  commands?: Pick<WorkflowCommandService, 'add'> | undefined;
};

/** All functions except `read`, `listFailures` and `saveSpeeds` run in the caller's transaction. */
export class EndpointService extends Service<EndpointNeeds> {
  /**
   * Opens or closes an endpoint when its subscription is activated or deactivated. After the commit that closes it no
   * attempt begins; an attempt under way may finish. Source: Specification, "Webhook subscription" (states).
   */
  setActive = async (
    unit: Transaction,
    subscriptionId: string,
    active: boolean,
  ): Promise<{ changed: boolean }> => {
    const change = await store.setActive(unit, subscriptionId, active, null);
    if (change !== undefined) await announce(this.needs, unit, [change], { opened: active });
    return { changed: change !== undefined };
  };

  /** Closes the endpoint of a deleted subscription for good. Its unfinished deliveries then show as canceled. */
  remove = async (unit: Transaction, subscriptionId: string): Promise<void> => {
    const change = await store.markDeleted(unit, subscriptionId);
    if (change !== undefined) await announce(this.needs, unit, [change], { opened: false });
  };

  /** Ends a hold, because a person has requested a retry or changed the URL. */
  endHold = async (unit: Transaction, subscriptionId: string): Promise<void> => {
    const change = await store.open(unit, subscriptionId);
    if (change !== undefined) await announce(this.needs, unit, [change], { opened: true });
  };

  /**
   * Lets one attempt begin at a closed endpoint, because a person has asked for it.
   * @returns false when there is nothing to open, as `probeNow` says
   */
  probe = async (unit: Transaction, endpoint: EndpointName): Promise<boolean> => {
    if (!(await probeNow(unit, endpoint))) return false;
    await announce(this.needs, unit, [{ ...endpoint, signal: true }], { opened: true });
    return true;
  };

  /**
   * Closes the endpoints of a tenant when it is suspended, and opens them when it is resumed. After the commit that
   * closes them no attempt begins; an attempt under way may finish. Opened endpoints are paced and send the oldest
   * first.
   * @returns the number of endpoints
   */
  setTenantHeld = async (unit: Transaction, tenantId: string, held: boolean): Promise<number> => {
    const changes = await (held ? store.holdTenant : store.releaseTenant)(unit, tenantId);
    await announce(this.needs, unit, changes, { opened: !held });
    return changes.length;
  };

  /** Counts failures of one endpoint against it, in their order. */
  noteFailures = async (
    unit: Transaction,
    subscriptionId: string,
    failures: readonly EndpointFailure[],
  ): Promise<void> => {
    const change = await this.needs.health.fail(unit, subscriptionId, failures);
    if (change !== undefined) await announce(this.needs, unit, [change], change);
  };

  /** Notes a 2xx of an endpoint that had failed. Its waiting deliveries are sent paced, the oldest first. */
  noteSuccess = async (unit: Transaction, subscriptionId: string): Promise<void> => {
    const change = await this.needs.health.recover(unit, subscriptionId);
    await announce(this.needs, unit, change === undefined ? [] : [change], { opened: true });
  };

  /** Notes that the crowd of the endpoint has an earlier retry: its workflow reads the endpoint again. */
  noteCrowd = async (unit: Transaction, endpoint: EndpointName): Promise<void> => {
    await enqueueRecovery(this.needs.commands, unit, [{ ...endpoint, signal: true }]);
  };

  /** `held`: the endpoint is closed with those of its suspended tenant. */
  create = store.insert;

  /** Closes an endpoint whose attempts have all failed for this many days. Another endpoint is not changed. */
  deactivateFailing = async (
    unit: Queryable,
    subscriptionId: string,
    failingForDays: number,
  ): Promise<{ changed: boolean }> => {
    const change = await store.setActive(unit, subscriptionId, false, failingForDays);
    return { changed: change !== undefined };
  };

  /** Stores how fast receivers answer, for processes that have made no attempts to them. */
  saveSpeeds = store.saveSpeeds;

  /** Sets how many attempts may begin in a second, in all processes together; null removes the limit. */
  setRate = store.setRate;

  /** Reads endpoints by the ids of their subscriptions. An unknown id is not in the answer. */
  read = async (
    queryable: Queryable,
    subscriptionIds: readonly string[],
  ): Promise<ReadonlyMap<string, EndpointRow>> => {
    if (subscriptionIds.length === 0) return new Map();
    const rows = await store.read(queryable, subscriptionIds);
    return new Map(rows.map((row) => [row.subscriptionId, row]));
  };

  /** Lists the codes that deliveries of an endpoint have failed with lately, those of most deliveries first. */
  listFailures = listFailures;
}

/** Enqueues commands for the workflows of changed endpoints, and notifies the relays when some have opened. */
export async function announce(
  { notifier, commands }: Pick<EndpointNeeds, 'notifier' | 'commands'>,
  unit: Transaction,
  changes: readonly EndpointChange[],
  { opened }: { opened: boolean },
): Promise<readonly EndpointChange[]> {
  if (opened) unit.afterCommit(() => notifier?.poke());
  await enqueueRecovery(commands, unit, changes);
  return changes;
}
