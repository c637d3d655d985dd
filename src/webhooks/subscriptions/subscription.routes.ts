// The routes of subscriptions.
import { accepted, created, locate, noContent, ok, page } from '../../platform/http/answers.ts';
import { noFields } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import { defineRoute, defineRoutes, type Route } from '../../platform/http/route.ts';
import { SUBSCRIPTIONS, TESTS } from './subscription.examples.ts';
import {
  canceledDeliveriesSchema,
  createdSubscriptionSchema,
  createSubscriptionBody,
  presentSubscription,
  presentSubscriptionDetails,
  subscriptionDetailsSchema,
  subscriptionListQuery,
  subscriptionListSchema,
  subscriptionParams,
  subscriptionSchema,
  testBody,
  testDeliverySchema,
  toFilters,
  toInput,
  updateSubscriptionBody,
} from './subscription.schemas.ts';
import type { SubscriptionService } from './subscription.service.ts';

const SCOPES = { tag: 'Webhooks', read: 'webhooks:read', write: 'webhooks:write' } as const;

/** The document says here how a receiver verifies a delivery: a tenant may have nothing else to read. */
const ABOUT = `Subscriptions to events, and what became of each delivery.

A delivery is a POST to the URL of the subscription. Its receiver verifies it, before it parses the body, in this order:

- The method is POST (else answer 405), \`Content-Type\` is \`application/json\` (or \`application/cloudevents+json\`), and \`X-Service-Signature-Suite\` is \`service-webhook-v1\` (else 401).
- \`X-Service-Signature-256\`, or during a rotation \`X-Service-Signature-256-Next\`, is \`sha256=\` and the lowercase hex of HMAC-SHA256 over six values joined by line feeds: suite, \`X-Service-Timestamp\`, \`X-Service-Signature-Max-Age\`, \`X-Service-Delivery\`, \`X-Service-Event\`, and the raw bytes of the body. The key is the whole text of the secret, \`whsec_\` included. Compare in constant time; else answer 401.
- \`X-Service-Timestamp\` is at most \`X-Service-Signature-Max-Age\` seconds old, and at most 60 s in the future; else answer 401.
- An \`X-Service-Delivery\` that was taken before gets 2xx and is not processed again.

Libraries of Standard Webhooks 1.0 verify \`webhook-id\`, \`webhook-timestamp\` and \`webhook-signature\` instead, and with the signature \`jwt\` a bearer token is in \`Authorization\`. 2xx is delivered; 400, 413, 415 and 422 give the delivery up, 410 ends the subscription; after every other answer the delivery comes again.`;

const COMMON = { ...SCOPES, about: ABOUT } as const;

/** PUT and PATCH are the same: PUT is the specification's, PATCH what other resources have. */
const UPDATES = [
  { method: 'PUT', operationId: 'updateWebhook' },
  { method: 'PATCH', operationId: 'patchWebhook' },
] as const;

/** Source: Specification, "Webhook management". */
export function createSubscriptionRoutes({ subscriptions }: { subscriptions: SubscriptionService }): Route[] {
  return [
    ...createCollectionRoutes(subscriptions),
    ...UPDATES.map((update) => createUpdateRoute(subscriptions, update)),
    ...createActionRoutes(subscriptions),
  ];
}

function createCollectionRoutes(subscriptions: SubscriptionService): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'GET',
      path: '/api/v1/webhooks',
      operationId: 'listWebhooks',
      summary: 'List subscriptions, the newest first',
      request: { query: subscriptionListQuery },
      responses: { 200: { description: 'A page of subscriptions', schema: subscriptionListSchema } },
      handler: async ({ context, query }) =>
        page(await subscriptions.list(context, toFilters(query)), presentSubscription),
    },

    {
      method: 'POST',
      path: '/api/v1/webhooks',
      operationId: 'createWebhook',
      summary: 'Create a subscription',
      description:
        'Events that match are delivered to its URL, signed with its secret, at least once. With a pattern and no `sink` it becomes an audit sink. URLs of private networks and names that are only local are refused.',
      idempotent: true,
      secretFields: ['secret'],
      request: { body: createSubscriptionBody, examples: SUBSCRIPTIONS },
      errors: ['conflict'],
      responses: {
        201: {
          description: 'The subscription. A generated secret is shown here and nowhere else.',
          schema: createdSubscriptionSchema,
          headers: ['location'],
        },
      },
      handler: async ({ context, body }) => {
        const { subscription, secret } = await subscriptions.create(context, toInput(body));
        return created(
          { ...presentSubscription(subscription), ...(secret === undefined ? {} : { secret }) },
          locate(context, `/api/v1/webhooks/${subscription.id}`),
        );
      },
    },

    {
      method: 'GET',
      path: '/api/v1/webhooks/:id',
      operationId: 'getWebhook',
      summary: 'Read a subscription, and what its endpoint has failed with',
      request: { params: subscriptionParams },
      responses: { 200: { description: 'The subscription', schema: subscriptionDetailsSchema } },
      handler: async ({ context, params }) =>
        ok(presentSubscriptionDetails(await subscriptions.getDetails(context, params.id))),
    },
  ]);
}

function createUpdateRoute(subscriptions: SubscriptionService, update: (typeof UPDATES)[number]): Route {
  return defineRoute({
    ...update,
    tag: COMMON.tag,
    scope: COMMON.write,
    path: '/api/v1/webhooks/:id',
    summary: 'Change a subscription',
    description:
      'Changes the fields that the body names; PUT and PATCH are the same. While `active` is false no attempt begins; deliveries wait and go out, paced and from the oldest, when it is true again. Other `event_types` are for events that are accepted after the change; deliveries that exist are still sent.',
    request: { params: subscriptionParams, body: updateSubscriptionBody },
    exists: (context, { id }) => subscriptions.exists(context, id),
    responses: { 200: { description: 'The subscription, changed', schema: subscriptionSchema } },
    handler: async ({ context, params, body }) =>
      ok(presentSubscription(await subscriptions.update(context, params.id, toInput(body)))),
  });
}

function createActionRoutes(subscriptions: SubscriptionService): Route[] {
  return defineRoutes(SCOPES, [
    {
      method: 'DELETE',
      path: '/api/v1/webhooks/:id',
      operationId: 'deleteWebhook',
      summary: 'Delete a subscription; its unfinished deliveries are canceled',
      request: { params: subscriptionParams },
      responses: { 204: { description: 'The subscription is deleted' } },
      handler: ({ context, params }) => noContent(subscriptions.remove(context, params.id)),
    },

    {
      method: 'POST',
      path: '/api/v1/webhooks/:id/test',
      operationId: 'testWebhook',
      summary: 'Send a test delivery',
      description:
        'Goes to this subscription alone, whatever its filters: an event `webhook.test`, or the example of the type that is asked for, so that a receiver can be tried with what it is made for. A test that fails deactivates nothing.',
      idempotent: true,
      request: { params: subscriptionParams, body: testBody, examples: TESTS },
      exists: (context, { id }) => subscriptions.exists(context, id),
      responses: {
        202: {
          description: 'The delivery to this subscription',
          schema: testDeliverySchema,
        },
      },
      errors: ['subscription_inactive'],
      handler: async ({ context, params, body }) => {
        const test = await subscriptions.sendTest(context, params.id, body.event_type);
        return accepted(present(testDeliverySchema, test));
      },
    },

    {
      method: 'POST',
      path: '/api/v1/webhooks/:id/deliveries/cancel',
      operationId: 'cancelWebhookDeliveries',
      summary: 'Cancel all waiting deliveries of a subscription',
      description:
        'Cancels, for good, what is unfinished: what was not tried yet, and what waits for its next attempt or for the endpoint. An attempt under way may still arrive. What is accepted afterwards is delivered as usual.',
      request: { params: subscriptionParams, body: noFields },
      exists: (context, { id }) => subscriptions.exists(context, id),
      responses: { 200: { description: 'How many were canceled', schema: canceledDeliveriesSchema } },
      handler: async ({ context, params }) =>
        ok({ canceled: await subscriptions.cancelWaiting(context, params.id) }),
    },

    {
      method: 'POST',
      path: '/api/v1/webhooks/:id/probe',
      operationId: 'probeWebhook',
      summary: 'Send one delivery now to an endpoint that is held or down',
      description:
        'The others that wait follow if it is taken, slowly at first. If it is not, the endpoint stays closed until its next probe. Refused when there is nothing to probe: the endpoint is open, no delivery waits, or the operator of this service holds its host.',
      idempotent: true,
      request: { params: subscriptionParams, body: noFields },
      exists: (context, { id }) => subscriptions.exists(context, id),
      responses: { 202: { description: 'The subscription', schema: subscriptionSchema } },
      errors: ['subscription_inactive', 'conflict'],
      handler: async ({ context, params }) =>
        accepted(presentSubscription(await subscriptions.probe(context, params.id))),
    },
  ]);
}
