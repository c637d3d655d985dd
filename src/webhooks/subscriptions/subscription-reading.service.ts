// Reads subscriptions for people: with their endpoints and masked headers, without secrets.
import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { DEFAULT_RETRY_POLICY, type RetryPolicy } from '../deliveries/retry-schedule.ts';
import type { EndpointRow, EndpointService } from '../endpoints/endpoint.service.ts';
import * as store from './subscription.store.ts';
import { maskHeaders, type SubscriptionRecord } from './subscription.ts';
import type { SubscriptionSealing } from './subscription-sealing.service.ts';

/** A subscription as it is shown: with masked headers, the effective retry policy, and its endpoint as `lane`. */
export type Subscription = Omit<
  SubscriptionRecord,
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
  readonly lane: {
    readonly state: EndpointRow['state'];
    readonly holdUntil: Date | null;
    readonly heldBy: EndpointRow['heldBy'];
    readonly failingSince: Date | null;
    readonly waiting: number;
  };
};

/** Reads a tenant's subscriptions, in `context.transaction` if there is one. */
export function createSubscriptionReader({
  database,
  endpoints,
  sealing,
}: {
  database: Pick<Database, 'query' | 'model'>;
  endpoints: Pick<EndpointService, 'read'>;
  sealing: Pick<SubscriptionSealing, 'openHeaders'>;
}) {
  async function show(context: RequestContext, rows: readonly SubscriptionRecord[]): Promise<Subscription[]> {
    const ids = rows.map(({ id }) => id);
    const states = await endpoints.read(context.transaction ?? database, ids);
    return rows.flatMap((row) => {
      const endpoint = states.get(row.id);
      return endpoint === undefined ? [] : [toSubscription(row, endpoint)];
    });
  }

  async function showOne(context: RequestContext, row: SubscriptionRecord): Promise<Subscription> {
    const [subscription] = await show(context, [row]);
    if (subscription === undefined) throw unknownSubscription();
    return subscription;
  }

  function toSubscription(row: SubscriptionRecord, endpoint: EndpointRow): Subscription {
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
      active: endpoint.active,
      headers: maskHeaders(sealing.openHeaders(row.id, headersSealed)),
      retryPolicy: retryPolicy ?? DEFAULT_RETRY_POLICY,
      lane: {
        state: endpoint.state,
        holdUntil: endpoint.holdUntil,
        heldBy: endpoint.heldBy,
        failingSince: endpoint.failingSince,
        waiting: endpoint.waiting,
      },
    };
  }

  return {
    /** Adds the endpoint and masks headers. @throws ServiceError `not_found` when the endpoint does not exist */
    show: showOne,

    /** @returns whether the tenant has this subscription and it is not deleted. One indexed read. */
    exists: (context: RequestContext, id: string): Promise<boolean> =>
      store.exists(context.transaction ?? database, context.tenant.id, id),

    /** @throws ServiceError `not_found` for an id that is no subscription of this tenant, or a deleted one */
    get: async (context: RequestContext, id: string): Promise<Subscription> => {
      const row = await store.find(context.transaction ?? database, context.tenant.id, id);
      if (row === undefined) throw unknownSubscription();
      return showOne(context, row);
    },

    /** Lists a page, the newest first. @throws ServiceError `invalid_request` for a foreign cursor */
    list: async (
      context: RequestContext,
      request: PageRequest & store.SubscriptionFilters,
    ): Promise<Page<Subscription>> => {
      const page = await store.list(context.transaction ?? database, context.tenant.id, request);
      return { data: await show(context, page.data), nextCursor: page.nextCursor };
    },
  };
}

/** The error for an id that is no subscription of this tenant, or a deleted one. */
export function unknownSubscription(): ServiceError {
  return new ServiceError('not_found', { detail: 'There is no subscription with this id.' });
}
