// Operator acts on a host: they concern the endpoints of all tenants there. Each change and its act are committed
// together.

import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { workThrough } from '../../platform/database/page.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type {
  EndpointChange,
  FailingHost,
  HostHold,
  HostHoldService,
} from '../../webhooks/endpoints/host-hold.service.ts';
import { type HoldLength, readHost } from '../../webhooks/endpoints/host-hold.ts';
import type { Concerned, OperatorActService } from './operator-act.service.ts';
import type { OperatorIntent } from './operator-act.ts';

/**
 * How many endpoints of how many tenants an act changed. With `changed` false nothing was to do, and no act is
 * recorded.
 */
export type HostResult = {
  readonly host: string;
  readonly changed: boolean;
  readonly endpoints: number;
  readonly tenants: number;
};

type WaitingResult = HostResult & { readonly deliveries: number };

const CHUNK = 500;

export type HostNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  hosts: HostHoldService;
  acts: Pick<OperatorActService, 'record'>;
  tenants: Pick<TenantService, 'requireBySlug'>;
};

export class HostService extends Service<HostNeeds> {
  /**
   * Holds a host: after the commit no attempt to the host begins, also for new subscriptions, and its deliveries
   * wait. Replaces an earlier hold of the same host.
   * @throws ServiceError `invalid_request` when the text is no host
   */
  hold = (intent: OperatorIntent, text: string, length: HoldLength): Promise<HostResult> => {
    const host = parseHost(text);
    return this.needs.database.transaction({}, async (transaction) => {
      const changes = await this.needs.hosts.hold(transaction, host, { ...intent, length });
      const data =
        length === 'released'
          ? {}
          : 'until' in length
            ? { until: length.until.toISOString() }
            : { seconds: length.seconds };
      return this.#record(transaction, intent, { action: 'webhook.host.held', host, data }, changes);
    });
  };

  /**
   * Releases a host: its waiting deliveries are attempted at a limited rate, the oldest first.
   * @throws ServiceError `invalid_request` when the text is no host
   */
  release = (intent: OperatorIntent, text: string): Promise<HostResult> => {
    const host = parseHost(text);
    return this.needs.database.transaction({}, async (transaction) => {
      const changes = await this.needs.hosts.release(transaction, host);
      if (changes === undefined) return nothing(host);
      return this.#record(transaction, intent, { action: 'webhook.host.released', host }, changes);
    });
  };

  /**
   * Makes all waiting deliveries to this host due now, at a limited rate. They may wait for their endpoint or for
   * their next attempt.
   * @returns also the number of deliveries that waited for their next attempt
   * @throws ServiceError `invalid_request` when the text is no host, `conflict` while the host is held
   */
  retry = (intent: OperatorIntent, text: string): Promise<WaitingResult> => {
    const { hosts } = this.needs;
    const host = parseHost(text);
    const open = async (unit: Transaction) => {
      const changes = await hosts.retry(unit, host);
      if (changes === undefined)
        throw new ServiceError('conflict', { detail: `The host ${host} is held. Release it first.` });
      return changes;
    };
    return this.#actOnWaiting(intent, { action: 'webhook.host.retried', host }, open, hosts.hasten);
  };

  /**
   * Cancels all waiting deliveries to this host for good, however they wait. An attempt under way may finish.
   * @param options.tenant the slug of a tenant: only deliveries of this one
   * @returns also the number of deliveries
   * @throws ServiceError `invalid_request` when the text is no host, `not_found` without such a tenant
   */
  cancel = async (
    intent: OperatorIntent,
    text: string,
    { tenant }: { tenant?: string | undefined } = {},
  ): Promise<WaitingResult> => {
    const { hosts, tenants } = this.needs;
    const host = parseHost(text);
    const tenantId = tenant === undefined ? undefined : (await tenants.requireBySlug(tenant)).id;
    const list = async (unit: Transaction) => {
      await hosts.lock(unit, host);
      return hosts.listWaiting(unit, host, tenantId);
    };
    return this.#actOnWaiting(intent, { action: 'webhook.host.canceled', host }, list, hosts.cancel);
  };

  /** Lists the holds in force, the oldest first. */
  list = (): Promise<HostHold[]> => this.needs.hosts.list(this.needs.database);

  /** Counts failing endpoints by host, the most frequent first, and by code. */
  listFailing = (filter: { errorClass: string | undefined; limit: number }): Promise<FailingHost[]> =>
    this.needs.hosts.listFailing(this.needs.database, filter);

  /** Records the act on the endpoints that `select` gives, then acts on their waiting deliveries page by page. */
  #actOnWaiting = async (
    intent: OperatorIntent,
    deed: { readonly action: string; readonly host: string },
    select: (unit: Transaction) => Promise<readonly EndpointChange[]>,
    page: HostHoldService['hasten'],
  ): Promise<WaitingResult> => {
    const { database } = this.needs;
    const { result, endpoints } = await database.transaction({}, async (unit) => {
      const changes = await select(unit);
      const endpoints = changes.map(({ subscriptionId }) => subscriptionId);
      if (endpoints.length === 0) return { result: nothing(deed.host), endpoints };
      return { result: await this.#record(unit, intent, deed, changes), endpoints };
    });
    if (endpoints.length === 0) return { ...result, deliveries: 0 };
    const deliveries = await workThrough((after) =>
      database.transaction({}, (unit) => page(unit, endpoints, { after, limit: CHUNK })),
    );
    return { ...result, deliveries };
  };

  #record = async (
    transaction: Transaction,
    intent: OperatorIntent,
    { action, host, data }: { action: string; host: string; data?: Record<string, unknown> },
    changes: readonly EndpointChange[],
  ): Promise<HostResult> => {
    const concerned = byTenant(changes);
    const target = { type: 'host', id: host } as const;
    await this.needs.acts.record(transaction, intent, { action, target, data }, concerned);
    return { host, changed: true, endpoints: changes.length, tenants: concerned.length };
  };
}

const nothing = (host: string): HostResult => ({ host, changed: false, endpoints: 0, tenants: 0 });

function parseHost(text: string): string {
  const host = readHost(text);
  if (host === undefined)
    throw invalidField('host', 'must be a host name, an address, or one of them with a port');
  return host;
}

function byTenant(changes: readonly EndpointChange[]): Concerned[] {
  const endpoints = new Map<string, number>();
  for (const { tenantId } of changes) endpoints.set(tenantId, (endpoints.get(tenantId) ?? 0) + 1);
  return [...endpoints].map(([tenantId, count]) => ({ tenantId, data: { endpoints: count } }));
}
