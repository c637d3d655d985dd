// Reads subscriptions for people: with their endpoints and masked headers, without secrets.

import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointFailures, EndpointRow, EndpointService } from '../endpoints/endpoint.service.ts';
import type { ShownEndpointState } from '../endpoints/endpoint-state.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from './retry-schedule.ts';
import type { SubscriptionRow } from './subscription.model.ts';
import * as store from './subscription.store.ts';
import { maskHeaders } from './subscription.ts';
import type { SubscriptionSealing } from './subscription-sealing.service.ts';

/** A subscription as it is shown: with masked headers, the effective retry policy, and its endpoint. */
export type Subscription = Omit<
  SubscriptionRow,
  | 'secretSealed'
  | 'nextSecretSealed'
  | 'headersSealed'
  | 'retryPolicy'
  | 'filters'
  | 'deletedAt'
  | 'streamAudience'
> & {
  readonly active: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryPolicy: RetryPolicy;
  readonly endpoint: Omit<EndpointRow, 'state' | 'active'> & {
    readonly state: ShownEndpointState;
    readonly lastStatusCode: number | null;
  };
};

/** A subscription, and what its endpoint has failed with lately. */
export type SubscriptionDetails = Subscription & {
  readonly endpoint: { readonly failures: readonly EndpointFailures[] };
};

export type SubscriptionReaderNeeds = {
  database: Pick<Database, 'query' | 'model'>;
  endpoints: Pick<EndpointService, 'read' | 'listFailures'>;
  sealing: Pick<SubscriptionSealing, 'openHeaders'>;
};

/** Reads a tenant's subscriptions, in `context.transaction` if there is one. */
export class SubscriptionReader extends Service<SubscriptionReaderNeeds> {
  /** Adds the endpoint and masks headers. @throws ServiceError `not_found` when the endpoint does not exist */
  show = async (context: RequestContext, row: SubscriptionRow): Promise<Subscription> => {
    const [subscription] = await this.#show(context, [row]);
    if (subscription === undefined) throw unknownSubscription();
    return subscription;
  };

  /** @throws ServiceError `not_found` for an id that is no subscription of this tenant, or a deleted one */
  get = async (context: RequestContext, id: string): Promise<Subscription> => {
    const row = await store.find(context.transaction ?? this.needs.database, context.tenant.id, id);
    if (row === undefined) throw unknownSubscription();
    return this.show(context, row);
  };

  /** Reads one subscription with what its endpoint has failed with. @throws ServiceError as `get` */
  getDetails = async (context: RequestContext, id: string): Promise<SubscriptionDetails> => {
    const subscription = await this.get(context, id);
    const name = { tenantId: context.tenant.id, subscriptionId: id };
    const failures = await this.needs.endpoints.listFailures(
      context.transaction ?? this.needs.database,
      name,
    );
    return { ...subscription, endpoint: { ...subscription.endpoint, failures } };
  };

  /** Lists a page, the newest first. */
  list = async (
    context: RequestContext,
    request: PageRequest & store.SubscriptionFilters,
  ): Promise<Page<Subscription>> => {
    const page = await store.list(context.transaction ?? this.needs.database, context.tenant.id, request);
    return { data: await this.#show(context, page.data), nextCursor: page.nextCursor };
  };

  /** @returns whether the tenant has this subscription and it is not deleted. One indexed read. */
  exists = (context: RequestContext, id: string): Promise<boolean> =>
    store.exists(context.transaction ?? this.needs.database, context.tenant.id, id);

  #show = async (context: RequestContext, rows: readonly SubscriptionRow[]): Promise<Subscription[]> => {
    const ids = rows.map(({ id }) => id);
    const states = await this.needs.endpoints.read(context.transaction ?? this.needs.database, ids);
    return rows.flatMap((row) => {
      const endpoint = states.get(row.id);
      if (endpoint === undefined || endpoint.state === 'deleted') return [];
      return [this.#toSubscription(row, { ...endpoint, state: endpoint.state })];
    });
  };

  #toSubscription = (
    row: SubscriptionRow,
    { active, ...endpoint }: EndpointRow & { readonly state: ShownEndpointState },
  ): Subscription => {
    const {
      secretSealed: _secret,
      nextSecretSealed: _next,
      headersSealed,
      retryPolicy,
      filters: _filters,
      deletedAt: _end,
      streamAudience: _stream,
      ...shown
    } = row;
    return {
      ...shown,
      active,
      headers: maskHeaders(this.needs.sealing.openHeaders(row.id, headersSealed)),
      retryPolicy: retryPolicy ?? DEFAULT_RETRY_POLICY,
      endpoint: { ...endpoint, lastStatusCode: statusCodeOf(endpoint.lastError) },
    };
  };
}

/** @returns what the receiver answered, of a code such as `http:503`; null when no answer came */
function statusCodeOf(error: string | null): number | null {
  const [, digits] = error?.match(/^http:(\d{3})$/) ?? [];
  return digits === undefined ? null : Number(digits);
}

/** The error for an id that is no subscription of this tenant, or a deleted one. */
export function unknownSubscription(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is no subscription with this id.' });
}
