// The routes of the catalogue of event types, which is the same for every tenant, and of the tenant's contract of
// events.

import { CATALOGUE } from '../../events/catalogue.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { DOCUMENT_HEADERS, NOT_MODIFIED, ok } from '../../platform/http/answers.ts';
import { defineRoutes, type Route } from '../../platform/http/route.ts';
import type { EventContractService } from './event-contract.service.ts';
import {
  asyncApiSchema,
  eventTypeList,
  eventTypeParams,
  eventTypeQuery,
  eventTypeSchema,
  presentEventType,
} from './event-type.schemas.ts';

/** Source: Specification, "Event types". */
export function createEventTypeRoutes({
  contract,
}: {
  contract: Pick<EventContractService, 'describe'>;
}): Route[] {
  // Made at the first request, because the schemas are expensive to make and never change.
  let shown: ReturnType<typeof presentEventType>[] | undefined;
  const showAll = () => {
    shown ??= CATALOGUE.map(presentEventType);
    return shown;
  };
  return defineRoutes({ tag: 'Events', scope: 'events:read' }, [
    {
      method: 'GET',
      path: '/api/v1/event-types',
      operationId: 'listEventTypes',
      summary: 'List the known event types',
      request: { query: eventTypeQuery },
      responses: {
        200: {
          description: "All of them on one page. A tenant's own types work without being listed.",
          schema: eventTypeList,
        },
      },
      handler: ({ query: { category, reserved } }) => {
        const data = showAll().filter(
          (entry) =>
            (category === undefined || entry.category === category) &&
            (reserved === undefined || String(entry.reserved) === reserved),
        );
        return ok({ data, next_cursor: null });
      },
    },

    {
      method: 'GET',
      path: '/api/v1/event-types/:type',
      operationId: 'getEventType',
      summary: 'Read an event type: its JSON Schemas, and an example',
      request: { params: eventTypeParams },
      responses: { 200: { description: 'The event type', schema: eventTypeSchema } },
      handler: ({ params }) => {
        const entry = showAll().find(({ type }) => type === params.type);
        if (entry === undefined)
          throw new ServiceError('not_found', { detail: 'The catalogue has no event type of this name.' });
        return ok(entry);
      },
    },

    {
      method: 'GET',
      path: '/api/v1/asyncapi.json',
      operationId: 'getAsyncApi',
      summary: "Read the contract of the tenant's events as an AsyncAPI document",
      description:
        "Has the types of the catalogue, and those of the tenant's own that its subscriptions name; nothing is known of the `data` of these.",
      responses: {
        200: { description: 'AsyncAPI 3.0', schema: asyncApiSchema, headers: DOCUMENT_HEADERS },
        304: NOT_MODIFIED,
      },
      handler: async ({ context }) => {
        const { text, digest } = await contract.describe(context);
        return ok(text, { 'cache-control': 'private, no-cache', etag: `"${digest}"` });
      },
    },
  ]);
}
