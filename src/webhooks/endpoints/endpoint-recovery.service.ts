// The steps of the workflow endpointRecovery: warnings, deactivation, and the actions of an operator. The row decides
// whether a step is due, so a repeated or late step does nothing. Endpoints open without this workflow.

import { type OperatorRequest, operatorContext, serviceContext } from '../../audit/audit.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { RecordService } from '../intake/record.service.ts';
import { releaseCrowd } from '../rows/crowd.store.ts';
import { probeNow } from './endpoint-probe.store.ts';
import type { CrowdMember, EndpointCase } from './endpoint-recovery.store.ts';
import * as store from './endpoint-recovery.store.ts';
import { type EndpointName, type EndpointState, endpointStateOf } from './endpoint-state.ts';
import {
  type DueRecoveryStep,
  deactivatesAt,
  decideRecoveryStep,
  type RecoveryStep,
  warningsEarned,
} from './recovery-step.ts';

export type { EndpointName } from './endpoint-state.ts';

/**
 * The state of an endpoint and its next step. Times are ISO 8601. `opensAt` is when the next attempt may begin.
 * `lastError` is a code such as `http:503`.
 */
export type EndpointStanding = {
  readonly step: RecoveryStep;
  readonly state: EndpointState;
  readonly host: string | null;
  readonly failingSince: string | null;
  readonly lastError: string | null;
  readonly opensAt: string | null;
  /** `operator`: an operator holds the host, for all tenants. `endpoint`: only this endpoint is held. */
  readonly heldBy: 'operator' | 'endpoint' | null;
  readonly deactivatesAt: string | null;
  readonly waiting: number;
  /** The crowd: its number, when its first and its last are due, and its oldest, which older histories lack. */
  readonly crowd: number;
  readonly crowdDueAt: string | null;
  readonly crowdLastDueAt?: string | null | undefined;
  readonly crowdOldest?: CrowdMember | null | undefined;
  readonly epoch: number;
};

export type OperatorStep =
  | { readonly kind: 'probe' }
  | { readonly kind: 'release' }
  | { readonly kind: 'hold'; readonly seconds: number };

const MOST_READS = 5;

/** The most retries of a crowd that one transaction enqueues. */
const MOST_RELEASED = 1_000;

export type EndpointRecoveryNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  /** Deactivates the subscription of an endpoint whose attempts have all failed for days. */
  subscriptions: { deactivateFailing(name: EndpointName): Promise<unknown> };
  tenants: Pick<TenantService, 'byId'>;
  records: Pick<RecordService, 'write'>;
  /** Enqueues a signal to the workflow of an endpoint on which an operator acted. */
  commands: Pick<WorkflowCommandService, 'add'>;
  /** Notifies the relays when an endpoint has opened. */
  notifier: { poke(): void };
};

export class EndpointRecoveryService extends Service<EndpointRecoveryNeeds> {
  /** Reads the state and the next step. One round trip; two when the watching begins or ends. */
  read = async (name: EndpointName): Promise<EndpointStanding> => {
    for (let reads = 0; reads < MOST_READS; reads += 1) {
      const state = await readOnce(this.needs.database, name);
      if (state !== undefined) return state;
    }
    // The endpoint changes faster than it can be read, so it is locked. A read after a completed step should not fail.
    return this.needs.database.transaction({}, async (transaction) => {
      await store.lock(transaction, name);
      return (await readOnce(transaction, name)) ?? GONE;
    });
  };

  /** Describes the endpoint for the Temporal UI. @returns undefined for an unknown endpoint */
  describe = async (name: EndpointName): Promise<{ summary: string } | undefined> => {
    const found = await store.read(this.needs.database, name);
    return found && { summary: found.host };
  };

  /**
   * Does a step if it is due. `warn` emits `webhook.endpoint.failing`. `announceRecovery` emits
   * `webhook.endpoint.recovered` after a warning. `deactivate` deactivates the subscription with the reason
   * `failing`. `sendRetries` enqueues the attempts of the crowd that are due, for the relays. The events are not
   * delivered to the subscription itself.
   * @returns the state afterwards
   */
  perform = async (name: EndpointName, due: DueRecoveryStep): Promise<EndpointStanding> => {
    if (due === 'deactivate') await this.needs.subscriptions.deactivateFailing(name);
    else if (due === 'sendRetries') await this.#sendRetries(name);
    else
      await this.needs.database.transaction({}, async (transaction) => {
        await store.lock(transaction, name);
        const found = await store.read(transaction, name);
        if (found === undefined || decideRecoveryStep(found).kind !== due) return;
        if (due === 'warn') await this.#warn(transaction, name, found);
        else await this.#announceRecovery(transaction, name, found);
      });
    return this.read(name);
  };

  /** Lets the probe of this epoch begin now, in case Temporal's clock is ahead. @returns the state afterwards */
  probe = async (name: EndpointName, epoch: number): Promise<EndpointStanding> => {
    await store.probe(this.needs.database, name, epoch);
    this.needs.notifier.poke();
    return this.read(name);
  };

  /**
   * Does an operator's step and writes an audit entry. `probe` lets one attempt begin now, `release` opens the
   * endpoint, paced, `hold` closes it for `seconds`.
   * @throws ServiceError `not_found`; `conflict` when the endpoint is inactive, or open already
   */
  operate = async (
    name: EndpointName,
    step: OperatorStep,
    request: OperatorRequest = {},
  ): Promise<EndpointStanding> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    if (tenant === undefined) throw new ServiceError('not_found', { detail: 'There is no such endpoint.' });
    await this.needs.database.transaction({}, async (transaction) => {
      if (!(await change(transaction, name, step)))
        throw new ServiceError('conflict', {
          detail: 'The endpoint is inactive, deleted, open already, or an operator holds its host.',
        });
      const target = { type: 'subscription', id: name.subscriptionId };
      const data = step.kind === 'hold' ? { seconds: step.seconds } : {};
      await this.needs.records.write(transaction, operatorContext(tenant, newId(), request), {
        audit: [{ action: AUDITED[step.kind], outcome: 'success', target, data }],
      });
      // The read below notes the endpoint as watched, so its workflow must run.
      const { tenantId, subscriptionId: entityId } = name;
      await this.needs.commands.add(transaction, [{ tenantId, workflow: 'endpointRecovery', entityId }]);
      transaction.afterCommit(() => this.needs.notifier.poke());
    });
    return this.read(name);
  };

  /** Lists the endpoints whose workflow should be running. */
  listExpectedWorkflows = store.listExpectedWorkflows;

  /** Each transaction locks the endpoint, so that a delivery that joins the crowd meanwhile is not missed. */
  #sendRetries = async (name: EndpointName): Promise<void> => {
    for (let released = MOST_RELEASED; released === MOST_RELEASED; )
      released = await this.needs.database.transaction({}, async (unit) => {
        await store.lock(unit, name);
        unit.afterCommit(() => this.needs.notifier.poke());
        return releaseCrowd(unit, name.subscriptionId, MOST_RELEASED);
      });
  };

  #warn = async (unit: Transaction, name: EndpointName, found: EndpointCase): Promise<void> => {
    await store.noteWarned(unit, name, warningsEarned(found), found.failingSince);
    await this.#announce(unit, name, 'failing', {
      host: found.host,
      state: endpointStateOf(found),
      failing_since: iso(found.failingSince),
      last_error: found.lastError,
      waiting: found.waiting,
      deactivates_at: iso(deactivatesAt(found)),
    });
  };

  #announceRecovery = async (unit: Transaction, name: EndpointName, found: EndpointCase): Promise<void> => {
    await store.noteWarned(unit, name, 0, null);
    await this.#announce(unit, name, 'recovered', { host: found.host, failing_since: iso(found.warnedFor) });
  };

  #announce = async (
    unit: Transaction,
    { tenantId, subscriptionId }: EndpointName,
    what: 'failing' | 'recovered',
    facts: Record<string, string | number | null>,
  ): Promise<void> => {
    const type = `webhook.endpoint.${what}`;
    const context = serviceContext({ id: tenantId }, newId());
    const target = { type: 'subscription', id: subscriptionId };
    const data = { subscription_id: subscriptionId, ...facts };
    await this.needs.records.write(unit, context, {
      audit: [{ action: type, outcome: 'success', target, data: facts }],
      events: [{ type, data, exceptSubscription: subscriptionId }],
    });
  };
}

/** @returns undefined when the endpoint was changed after it was read */
async function readOnce(queryable: Queryable, name: EndpointName): Promise<EndpointStanding | undefined> {
  const found = await store.read(queryable, name);
  if (found === undefined) return GONE;
  const state = standingOf(found);
  const watched = state.step.kind !== 'end';
  const isNoted = found.watched === watched || (await store.watch(queryable, name, found, watched));
  return isNoted ? state : undefined;
}

function change(unit: Queryable, name: EndpointName, step: OperatorStep): Promise<boolean> {
  return step.kind === 'probe'
    ? probeNow(unit, name)
    : step.kind === 'release'
      ? store.release(unit, name)
      : store.hold(unit, name, step.seconds);
}

const AUDITED = {
  probe: 'webhook.endpoint.probed',
  release: 'webhook.endpoint.released',
  hold: 'webhook.endpoint.held',
} as const satisfies Record<OperatorStep['kind'], string>;

const GONE: EndpointStanding = {
  step: { kind: 'end' },
  state: 'deleted',
  host: null,
  failingSince: null,
  lastError: null,
  opensAt: null,
  heldBy: null,
  deactivatesAt: null,
  waiting: 0,
  crowd: 0,
  crowdDueAt: null,
  crowdLastDueAt: null,
  crowdOldest: null,
  epoch: 0,
};

function standingOf(found: EndpointCase): EndpointStanding {
  const opens = [found.hostHeldUntil, found.holdUntil, found.state === 'down' ? found.probeAt : null];
  const opensAt = opens
    .filter((time) => time !== null && time > found.now)
    .sort((a, b) => +(b ?? 0) - +(a ?? 0));
  return {
    step: decideRecoveryStep(found),
    state: endpointStateOf(found),
    host: found.host,
    failingSince: iso(found.failingSince),
    lastError: found.lastError,
    opensAt: found.hostHeld && found.hostHeldUntil === null ? null : iso(opensAt[0] ?? null),
    heldBy: found.hostHeld
      ? 'operator'
      : found.holdUntil !== null && found.holdUntil > found.now
        ? 'endpoint'
        : null,
    deactivatesAt: iso(deactivatesAt(found)),
    waiting: found.waiting,
    crowd: found.crowd,
    crowdDueAt: iso(found.crowdDueAt),
    crowdLastDueAt: iso(found.crowdLastDueAt),
    crowdOldest: found.crowdOldest,
    epoch: found.epoch,
  };
}

function iso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}
