// The schemas of the event routes. Parsed `data` is passed on as it is, because a copy would cost more than its check.

import { z } from 'zod';
import { RESERVED_TYPE } from '../../events/catalogue.ts';
import type { JsonObject } from '../../events/event.ts';
import { EVENT_TYPE, MAX_EVENT_TYPE_LENGTH } from '../../events/filter.ts';
import { invalidFields, parseFields } from '../../platform/errors/field-errors.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { isObject } from '../../platform/json-values.ts';
import { TIMESTAMP_PATTERN } from '../../platform/timestamp.ts';
import { checkPublication, MAX_EVENTS, type Publication } from './publication.ts';

/** Of one event, or of an array of them. */
export const MAX_PUBLICATION_BYTES = 1_048_576;

const eventData = z
  .custom<JsonObject>((value) => isObject(value), { error: 'must be a JSON object' })
  .meta({ type: 'object', additionalProperties: true });

const publishedEvent = z
  .strictObject({
    type: z
      .string()
      .min(1)
      .max(MAX_EVENT_TYPE_LENGTH)
      .meta({
        pattern: EVENT_TYPE.source,
        not: RESERVED_TYPE,
        description: '2 to 5 segments joined by dots; none that the service itself emits.',
        examples: ['orders.order.placed'],
      }),
    data: eventData,
    occurred_at: z.string().max(64).optional().meta({
      format: 'date-time',
      pattern: TIMESTAMP_PATTERN,
      description: 'RFC 3339; the time of acceptance when absent.',
    }),
    event_id: z
      .string()
      .regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 visible ASCII characters')
      .optional()
      .describe('Makes a repetition safe; a UUID is made when absent.'),
  })
  .meta({ id: 'NewEvent' });

/** An event, or an array of events. Each is checked separately, so that a wrong event does not refuse the others. */
export const publishBody = z.custom<unknown>(
  (value) => (Array.isArray(value) ? value.length >= 1 && value.length <= MAX_EVENTS : isObject(value)),
  { error: `must be an event, or an array of 1 to ${MAX_EVENTS} events` },
);

/** The same body as it is described. */
export const describedPublishBody = z
  .union([publishedEvent, z.array(publishedEvent).min(1).max(MAX_EVENTS)])
  .meta({ id: 'EventPublication' });

/**
 * Checks one event of a body.
 * @param path where the event stands in the body: `body`, or `body.3`
 * @returns the event; or `invalid_request`, which names each wrong field
 */
export function readPublication(value: unknown, path: string): Publication | ServiceError {
  const parsed = parseFields(publishedEvent, path, value);
  if ('errors' in parsed) return invalidFields(parsed);
  try {
    return checkPublication(parsed.value, path);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

const published = z
  .strictObject({ event_id: z.string(), deliveries: z.int().min(0) })
  .meta({ id: 'PublishedEvent' });

const refused = z
  .strictObject({
    status: z.int(),
    error: z.string(),
    error_description: z.string(),
    errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: 'RefusedEvent' });

const publishedBatch = z
  .strictObject({ results: z.array(z.union([published, refused])) })
  .meta({ id: 'PublishedBatch' });

export const publishAnswer = z.union([published, publishedBatch]).meta({ id: 'EventPublicationResult' });
