// The routes of deliveries. The same routes exist for one subscription and for all subscriptions of a tenant.

import { accepted, ok, page } from '../../platform/http/answers.ts';
import { readFields } from '../../platform/http/field-names.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import { subscriptionParams } from '../subscriptions/subscription.schemas.ts';
import {
  allDeliveriesQuery,
  deliveryDetailsSchema,
  deliveryListQuery,
  deliveryListSchema,
  deliveryParams,
  deliverySchema,
  noParams,
  presentDelivery,
  presentDetails,
  subscriptionDeliveryParams,
} from './delivery.schemas.ts';
import type { DeliveryService } from './delivery.service.ts';
import type { DeliveryRecord, WorkflowPlace } from './delivery.ts';

type Place = {
  readonly path: string;
  readonly name: string;
  readonly of: string;
  readonly params: typeof subscriptionParams | typeof noParams;
  readonly oneParams: typeof subscriptionDeliveryParams | typeof deliveryParams;
  readonly query: typeof deliveryListQuery | typeof allDeliveriesQuery;
};

const OF_A_SUBSCRIPTION: Place = {
  path: '/api/v1/webhooks/:id/deliveries',
  name: 'Webhook',
  of: 'of a subscription',
  params: subscriptionParams,
  oneParams: subscriptionDeliveryParams,
  query: deliveryListQuery,
};

const OF_ALL: Place = {
  path: '/api/v1/deliveries',
  name: '',
  of: 'of any subscription, deleted ones included',
  params: noParams,
  oneParams: deliveryParams,
  query: allDeliveriesQuery,
};

/**
 * Source: Specification, "Webhook management".
 * @param options.workflows address and namespace of Temporal's UI, for links in answers
 */
export function createDeliveryRoutes({
  deliveries,
  workflows,
}: {
  deliveries: DeliveryService;
  workflows: WorkflowPlace;
}): Route[] {
  const present = (record: DeliveryRecord) => presentDelivery(record, workflows);
  const routesAt = (place: Place): Route[] =>
    defineRoutes({ tag: 'Webhooks', read: 'webhooks:read', write: 'webhooks:write' }, [
      {
        method: 'GET',
        path: place.path,
        operationId: `list${place.name}Deliveries`,
        summary: `List deliveries ${place.of}, the newest first`,
        request: { params: place.params, query: place.query },
        exists: (context, params) => deliveries.hasSubscription(context, subscriptionOf(params)),
        responses: { 200: { description: 'A page of deliveries', schema: deliveryListSchema } },
        handler: async ({ context, params, query }) =>
          page(await deliveries.list(context, readFields(query), subscriptionOf(params)), present),
      },

      {
        method: 'GET',
        path: `${place.path}/:delivery_id`,
        operationId: `get${place.name}Delivery`,
        summary: `Read a delivery ${place.of}, with its body and its attempts`,
        request: { params: place.oneParams },
        responses: { 200: { description: 'The delivery', schema: deliveryDetailsSchema } },
        handler: async ({ context, params }) => {
          const details = await deliveries.get(context, params.delivery_id, subscriptionOf(params));
          return ok(presentDetails(details, workflows));
        },
      },

      {
        method: 'POST',
        path: `${place.path}/:delivery_id/retry`,
        operationId: `retry${place.name}Delivery`,
        summary: `Retry a delivery ${place.of} now, or replay it when it has ended`,
        idempotent: true,
        request: { params: place.oneParams, body: noFields },
        exists: (context, params) => deliveries.exists(context, params.delivery_id, subscriptionOf(params)),
        responses: { 202: { description: 'The delivery', schema: deliverySchema } },
        errors: ['conflict'],
        handler: async ({ context, params }) =>
          accepted(present(await deliveries.retry(context, params.delivery_id, subscriptionOf(params)))),
      },

      {
        method: 'POST',
        path: `${place.path}/:delivery_id/cancel`,
        operationId: `cancel${place.name}Delivery`,
        summary: `Cancel a delivery ${place.of}`,
        request: { params: place.oneParams, body: noFields },
        exists: (context, params) => deliveries.exists(context, params.delivery_id, subscriptionOf(params)),
        responses: { 202: { description: 'The delivery, canceled', schema: deliverySchema } },
        errors: ['conflict'],
        handler: async ({ context, params }) =>
          accepted(present(await deliveries.cancel(context, params.delivery_id, subscriptionOf(params)))),
      },
    ]);

  return [...routesAt(OF_A_SUBSCRIPTION), ...routesAt(OF_ALL)];
}

function subscriptionOf(params: { id: string } | { delivery_id: string } | Record<string, never>) {
  return 'id' in params ? params.id : undefined;
}
