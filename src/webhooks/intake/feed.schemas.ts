// The schemas of the routes that read events.
import { z } from 'zod';
import { isFilter, MAX_EVENT_TYPE_LENGTH } from '../../events/filter.ts';
import { moment, pageParameters } from '../../platform/http/field-schemas.ts';
import { present } from '../../platform/http/present.ts';
import type { FeedService, ShownEvent } from './feed.service.ts';
import { FEED_CURSOR } from './feed-cursor.ts';

const timestamp = z.iso.datetime();

/** The most types and patterns in one request. */
const MAX_TYPES = 20;

export const feedQuery = z.object({
  after: z.string().regex(FEED_CURSOR, 'is not a cursor that the feed gave').optional().meta({
    description:
      'The `next_cursor` of the answer before; absent to begin with the oldest event that is kept.',
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
        'By the same clock: all that was committed before it, and that `since` and `type` let through, is in this page or in an earlier one. Null while `has_more` is true.',
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

/** @returns the delivered body with the time of acceptance */
export function presentEvent({ body, createdAt }: ShownEvent) {
  return { ...body, created_at: createdAt.toISOString() };
}

export function presentDetails(event: Awaited<ReturnType<FeedService['get']>>) {
  return { ...presentEvent(event), ...present(outcome, event) };
}
