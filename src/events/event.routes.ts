// The event routes: publishing, and the catalogue of event types.
import { describeError } from '../errors/catalogue.ts';
import { ServiceError } from '../errors/service-error.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { bodySchemaOf, CATALOGUE, isReserved } from './catalogue.ts';
import { PUBLICATIONS, PUBLISHED } from './event.examples.ts';
import { eventTypeList, publishAnswer, publishBody, readPublication } from './event.schemas.ts';
import type { Published, PublishingService } from './publishing.service.ts';

const TAG = 'Events';

/** Routes of the events room. */
export function createEventRoutes({ publishing }: { publishing: PublishingService }): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/events',
      operationId: 'publishEvents',
      summary: 'Publish one event, or up to 500',
      description:
        'Accepted means durable: the events and their deliveries are committed. A known `event_id` with the same content gets the first answer. The members of an array are judged one by one, so that a wrong one is refused in `results` without its neighbours.',
      tag: TAG,
      scope: 'events:write',
      idempotent: true,
      request: { body: publishBody, examples: PUBLICATIONS },
      responses: {
        202: {
          description: 'Accepted and durable. An array is answered event by event, refusals among them.',
          schema: publishAnswer,
          examples: PUBLISHED,
        },
      },
      errors: ['invalid_request', 'event_id_conflict', 'payload_too_large', 'rate_limited'],
      handler: async ({ context, body }) => {
        if (Array.isArray(body)) {
          const items = body.map((item: unknown, index) => readPublication(item, `body.${index}`));
          const headers = publishing.admit(context, items.length);
          const results = await publishing.publish(context, items);
          return { status: 202, headers, body: { results: results.map(showResult) } };
        }
        const event = readPublication(body, 'body');
        if (event instanceof ServiceError) throw event;
        const headers = publishing.admit(context, 1);
        const [result] = await publishing.publish(context, [event]);
        if (result === undefined || result instanceof ServiceError) throw result;
        return { status: 202, headers, body: showPublished(result) };
      },
    }),

    defineRoute({
      method: 'GET',
      path: '/api/v1/event-types',
      operationId: 'listEventTypes',
      summary: 'List the known event types',
      tag: TAG,
      scope: 'webhooks:read',
      responses: {
        200: {
          description: "All of them on one page. A tenant's own types work without being listed.",
          schema: eventTypeList,
        },
      },
      errors: [],
      handler: () => ({ status: 200, body: { data: EVENT_TYPES, next_cursor: null } }),
    }),
  ];
}

const EVENT_TYPES = CATALOGUE.map((entry) => ({
  ...entry,
  reserved: isReserved(entry.type),
  schema: bodySchemaOf(entry.type),
}));

function showPublished({ eventId, deliveries }: Published) {
  return { event_id: eventId, deliveries };
}

function showResult(result: Published | ServiceError) {
  if (!(result instanceof ServiceError)) return showPublished(result);
  const entry = describeError(result.code);
  return {
    status: entry.status,
    error: result.code,
    error_description: result.detail ?? `${entry.title}.`,
    ...(result.errors === undefined ? {} : { errors: result.errors }),
  };
}
