// The schemas of the routes that read events.
import { z } from 'zod';
import { isFilter, MAX_EVENT_TYPE_LENGTH } from '../../events/filter.ts';
import { tagOf } from '../../platform/http/etag.ts';
import { writeEvent } from '../../platform/http/event-stream.ts';
import { moment, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import type { FeedEvent, FeedPage, FeedService } from './feed.service.ts';
import { FEED_CURSOR } from './feed-cursor.ts';
import type { Heard } from './held-feed.service.ts';

const timestamp = z.iso.datetime();

/** The most types and patterns in one request. */
const MAX_TYPES = 20;

/** The most seconds of a wait: below what proxies and clients usually allow for an answer. */
const MOST_WAIT = 30;

const isWait = (value: unknown): value is string =>
  typeof value === 'string' && /^(?:0|[1-9][0-9]?)$/.test(value) && Number(value) <= MOST_WAIT;

/** The header with which a client of Server-Sent Events goes on. */
export const LAST_EVENT_ID = 'last-event-id';

const fields = z.object({
  order: z.enum(['asc', 'desc']).default('asc').meta({
    description:
      'desc: the newest first, a page for people. `next_cursor` goes to older events; a client that must miss none follows with asc.',
  }),
  after: z.string().regex(FEED_CURSOR, 'is not a cursor that the feed gave').optional().meta({
    description:
      'The `next_cursor` of the answer before, in the same order; absent to begin with the oldest event that is kept, or with the newest.',
  }),
  limit: pageParameters.limit,
  type: z
    .string()
    .max(MAX_TYPES * (MAX_EVENT_TYPE_LENGTH + 1))
    .transform((text) => text.split(','))
    .refine((types) => types.length <= MAX_TYPES, `has at most ${MAX_TYPES} types and patterns`)
    .refine(
      (types) => types.every(isFilter),
      'must be an event type, a pattern such as auth.*, or several of them separated by commas',
    )
    .optional()
    .meta({
      description: `An event type, a pattern such as \`auth.*\`, or up to ${MAX_TYPES} of them separated by commas: an event of any of them is in the answer.`,
      example: 'orders.*,auth.token.revoked',
    }),
  since: moment.optional().meta({ description: 'Accepted at this time or later.' }),
  wait: z
    .custom<string>(isWait, { error: `must be a whole number from 0 to ${MOST_WAIT}` })
    .meta({
      type: 'integer',
      minimum: 0,
      maximum: MOST_WAIT,
      default: 0,
      description:
        'Seconds for which the answer may wait for an event. It comes as soon as there is one; after the time, or when the service stops, it is an empty page.',
    })
    .transform((seconds) => Number(seconds) * 1_000)
    .default(0),
});

export const feedQuery = fields.refine(({ order, wait }) => order === 'asc' || wait === 0, {
  path: ['wait'],
  error: 'goes with order=asc only: nothing newer comes after the newest events',
});

/** A malformed id gets the same answer as an unknown id. */
export const eventParams = z.object({ event_id: z.string().regex(/^[\x21-\x7e]{1,128}$/) });

const shownEvent = z.object({
  event_id: z.string(),
  type: z.string(),
  occurred_at: timestamp,
  tenant_id: z.uuid(),
  data: z.record(z.string(), z.unknown()),
  created_at: timestamp.describe('When it was accepted.'),
});

export const feedPage = z
  .object({
    data: z.array(shownEvent),
    next_cursor: z.string().describe('The place after these events, for `after`.'),
    has_more: z.boolean().describe('Whether a further request gives more now.'),
    read_at: timestamp.describe("When this page was read, by the database's clock."),
    complete_until: timestamp
      .nullable()
      .describe(
        'By the same clock: all that was committed before it, and that `since` and `type` let through, is in this page or in an earlier one. Null while `has_more` is true, and with `order=desc`.',
      ),
  })
  .meta({ id: 'EventFeed' });

const outcome = z.object({
  test: z.boolean().describe('Only tried a receiver: nothing has happened.'),
  deliveries: z
    .array(z.object({ id: z.uuid(), subscription_id: z.uuid(), status: z.string() }))
    .describe('Up to 1,000.'),
});

export const eventDetails = shownEvent.extend(outcome.shape).meta({ id: 'EventDetails' });

/**
 * Writes the delivered body with the time of acceptance. Its text is not parsed: a page has up to 256 KiB of bodies,
 * and the parser would hold up all tenants.
 */
function writeShown({ text, createdAt }: FeedEvent): string {
  return `${text.slice(0, -1)},"created_at":"${createdAt.toISOString()}"}`;
}

/** Writes a page as JSON. */
export function writePage({ data, nextCursor, hasMore, readAt, completeUntil }: FeedPage): string {
  const rest = JSON.stringify({
    next_cursor: nextCursor,
    has_more: hasMore,
    read_at: readAt.toISOString(),
    complete_until: completeUntil?.toISOString() ?? null,
  });
  return `{"data":[${data.map(writeShown).join(',')}],${rest.slice(1)}`;
}

/** @returns the entity tag of a page, which says nothing of when it was read */
export const tagPage = ({ data, nextCursor, hasMore }: FeedPage): string =>
  tagOf([`${nextCursor} ${hasMore}`, ...data.map(({ text }) => text)]);

/** Writes what a follower hears as Server-Sent Events; a comment, which only keeps the connection, without news. */
export function writeHeard(heard: Heard): string {
  if (heard.kind === 'end') return writeEvent({ event: 'end', text: '{}' });
  if (heard.kind === 'complete') return heard.until === undefined ? ':\n\n' : writeComplete(heard.until);
  const { data, completeUntil, nextCursor } = heard.page;
  const events = data.map((event) => writeEvent({ id: event.cursor(), text: writeShown(event) }));
  return [...events, ...(completeUntil === null ? [] : [writeComplete(completeUntil, nextCursor)])].join('');
}

function writeComplete(until: Date, id?: string): string {
  return writeEvent({ event: 'complete', id, text: JSON.stringify({ complete_until: until.toISOString() }) });
}

export function presentDetails(event: Awaited<ReturnType<FeedService['get']>>) {
  const { body, createdAt } = event;
  return { ...body, created_at: createdAt.toISOString(), ...present(outcome, event) };
}
