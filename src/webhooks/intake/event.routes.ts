// The routes that publish and read events.
import type { RequestContext } from '../../platform/context.ts';
import { ERRORS } from '../../platform/errors/catalogue.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { ok } from '../../platform/http/answers.ts';
import { prefersStream } from '../../platform/http/event-stream.ts';
import { defineRoutes, type HandlerResult, type Route } from '../../platform/http/route.ts';
import { mapInRounds } from '../../platform/steps.ts';
import { FEED, FEED_STREAM, PUBLICATIONS, PUBLISHED } from './event.examples.ts';
import {
  describedPublishBody,
  MAX_PUBLICATION_BYTES,
  publishAnswer,
  publishBody,
  readPublication,
} from './event.schemas.ts';
import {
  eventDetails,
  eventParams,
  feedPage,
  feedQuery,
  LAST_EVENT_ID,
  presentDetails,
  tagPage,
  writeHeard,
  writePage,
} from './feed.schemas.ts';
import type { FeedService } from './feed.service.ts';
import { FEED_CURSOR } from './feed-cursor.ts';
import type { Heard, HeldFeedService } from './held-feed.service.ts';
import { IN_ONE_ROUND } from './publication.ts';
import type { Published, Publishing } from './publishing.service.ts';

const COMMON = {
  tag: 'Events',
  about: 'Publishing of events, and their types.',
  read: 'events:read',
  write: 'events:write',
} as const;

export function createEventRoutes({
  publishing,
  feed,
  heldFeed,
}: {
  publishing: Publishing;
  feed: FeedService;
  heldFeed: HeldFeedService;
}): Route[] {
  return defineRoutes(COMMON, [
    {
      method: 'POST',
      path: '/api/v1/events',
      operationId: 'publishEvents',
      summary: 'Publish one event, or up to 500',
      description:
        'Accepted means durable: the events and their deliveries are committed. A known `event_id` with the same content gets the first answer. The members of an array are judged one by one, so that a wrong one is refused in `results` without its neighbours.',
      idempotent: true,
      sharesStatements: true,
      request: {
        body: publishBody,
        longest: MAX_PUBLICATION_BYTES,
        described: describedPublishBody,
        examples: PUBLICATIONS,
      },
      responses: {
        202: {
          description: 'Accepted and durable. An array is answered event by event, refusals among them.',
          schema: publishAnswer,
          examples: PUBLISHED,
        },
      },
      errors: ['invalid_request', 'event_id_conflict', 'payload_too_large', 'rate_limited'],
      handler: async ({ context, body }) => {
        if (Array.isArray(body)) return publishMany(publishing, context, body);
        const event = readPublication(body, 'body');
        if (event instanceof ServiceError) throw event;
        const { headers, costs } = publishing.admit(context, [event]);
        const [result] = await publishing.publish(context, [event], costs);
        if (result === undefined || result instanceof ServiceError) throw result;
        return { status: 202, headers, body: showPublished(result) };
      },
      // One event without an event id: other publications may have to be compared with published events.
      keyedHandler: async ({ context, body, answer }) => {
        const event = Array.isArray(body) ? undefined : readPublication(body, 'body');
        if (event === undefined || event instanceof ServiceError || event.eventId !== undefined)
          return undefined;
        const { headers, costs } = publishing.admit(context, [event]);
        const published = await publishing.publishOnce(context, event, answer, costs);
        return published && { status: 202, headers, body: showPublished(published) };
      },
    },

    {
      method: 'GET',
      path: '/api/v1/events',
      operationId: 'listEvents',
      summary: 'Follow the events, the oldest first, or read the newest',
      description:
        'A feed for clients that read instead of receiving deliveries. Pass `next_cursor` as `after` in the next request: without a pause while `has_more` is true, and otherwise with `wait`, so that the answer comes with the next event. With `Accept: text/event-stream` the answer has no end: each event is sent as it comes, its `id` is the cursor after it, and `Last-Event-ID` goes on from there. About every second `event: complete` says until when nothing is missing; `event: end` says that the service stops, and that another connection goes on. No event is missed, however late it was committed, and none comes twice. The feed has every published event, and of the events of the service those that a subscription got and those that end access; the audit log has all of them. Test events are not in it. A client that relies on what it has *not* seen relies on `complete_until`. With a rare type a page may be empty although `has_more` is true. `order=desc` gives the newest first, without `wait` and without a stream.',
      holds: true,
      request: { query: feedQuery },
      responses: {
        200: {
          description: 'Events; `next_cursor` is always there',
          schema: feedPage,
          examples: FEED,
          stream: FEED_STREAM,
        },
      },
      errors: ['cursor_expired'],
      handler: async ({ context, query, header, hold }) => {
        const isStream = prefersStream(header('accept'));
        if (query.order === 'desc') {
          if (isStream) throw invalidField('query.order', 'must be asc for text/event-stream');
          const page = await hold.inTurn(() =>
            feed.readNewest(context, { ...query, isShared: hold.isShared() }),
          );
          return { status: 200, body: writePage(page), headers: { etag: tagPage(page) } };
        }
        if (!isStream) return { status: 200, body: writePage(await heldFeed.readHeld(context, query, hold)) };
        const after = readLastEventId(header(LAST_EVENT_ID)) ?? query.after;
        return { status: 200, stream: write(await heldFeed.follow(context, { ...query, after }, hold)) };
      },
    },

    {
      method: 'GET',
      path: '/api/v1/events/:event_id',
      operationId: 'getEvent',
      summary: 'Read an event, with its deliveries',
      request: { params: eventParams },
      responses: { 200: { description: 'The event', schema: eventDetails } },
      handler: async ({ context, params }) => ok(presentDetails(await feed.get(context, params.event_id))),
    },
  ]);
}

async function publishMany(
  publishing: Publishing,
  context: RequestContext,
  body: readonly unknown[],
): Promise<HandlerResult> {
  const items = await mapInRounds(body, IN_ONE_ROUND, (item, index) =>
    readPublication(item, `body.${index}`),
  );
  const { headers, costs } = publishing.admit(context, items);
  const results = await publishing.publish(context, items, costs);
  return { status: 202, headers, body: { results: results.map(showResult) } };
}

async function* write(heard: AsyncIterable<Heard>): AsyncGenerator<string> {
  for await (const one of heard) yield writeHeard(one);
}

function readLastEventId(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return undefined;
  if (!FEED_CURSOR.test(id)) throw invalidField(`header.${LAST_EVENT_ID}`, 'is not an id that the feed gave');
  return id;
}

function showPublished({ eventId, deliveries }: Published) {
  return { event_id: eventId, deliveries };
}

function showResult(result: Published | ServiceError) {
  if (!(result instanceof ServiceError)) return showPublished(result);
  const entry = ERRORS[result.code];
  return {
    status: entry.status,
    error: result.code,
    error_description: result.detail ?? `${entry.title}.`,
    ...(result.errors === undefined ? {} : { errors: result.errors }),
  };
}
