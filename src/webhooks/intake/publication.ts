// The checks of published events, and the text that detects repeated publications. Pure.

import { isReserved } from '../../events/catalogue.ts';
import { type JsonObject, type JsonValue, MAX_EVENT_BYTES } from '../../events/event.ts';
import { isEventType } from '../../events/filter.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import { isObject } from '../../platform/json-values.ts';
import { parseTimestamp } from '../../platform/timestamp.ts';

export const MAX_EVENTS = 500;

/** Events of a publication that are worked on in one round of the event loop, which holds up all tenants meanwhile. */
export const IN_ONE_ROUND = 20;

export type PublishedInput = {
  readonly type: string;
  readonly data: JsonObject;
  readonly occurred_at?: string | undefined;
  readonly event_id?: string | undefined;
};

/** A published event after its checks. `path` is where it stands in the body: `body`, or `body.3`. */
export type Publication = {
  readonly path: string;
  readonly type: string;
  readonly data: JsonObject;
  readonly occurredAt: Date | undefined;
  readonly eventId: string | undefined;
};

/**
 * Makes the checks that a schema cannot express.
 * @param path where the event stands in the body: `body`, or `body.3` in an array
 * @throws ServiceError `invalid_request`, which names the wrong field
 */
export function checkPublication(input: PublishedInput, path: string): Publication {
  if (!isEventType(input.type))
    throw invalidField(
      `${path}.type`,
      'must be 2 to 5 segments of [a-z][a-z0-9_]* joined by dots, such as orders.order.placed, at most 128 characters',
    );
  if (isReserved(input.type))
    throw invalidField(`${path}.type`, 'is emitted by the service itself and cannot be published');
  const occurredAt = input.occurred_at === undefined ? undefined : parseTimestamp(input.occurred_at);
  if (input.occurred_at !== undefined && occurredAt === undefined)
    throw invalidField(`${path}.occurred_at`, 'must be an RFC 3339 date and time with its offset');
  return { path, type: input.type, data: input.data, occurredAt, eventId: input.event_id };
}

/** Makes the text whose digest detects a repetition: type, time (null without a time) and data with sorted members. */
export function contentOf(event: Publication): string {
  return JSON.stringify(
    [event.type, event.occurredAt?.toISOString() ?? null, event.data],
    (_name, value: JsonValue) =>
      isObject(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
  );
}

/** @returns `event_id_conflict`, because the event id belongs to an event with other content */
export function eventIdConflict(path: string): ServiceError {
  const message = 'belongs to an event with other content';
  return new ServiceError('event_id_conflict', {
    detail: `The event id ${message}.`,
    errors: [{ path: `${path}.event_id`, message }],
  });
}

/** Makes an error that names the field with too much data. @param path where the event stands in the body */
export function dataTooLarge(error: ServiceError, path: string): ServiceError {
  const message = `makes the delivery's body larger than ${MAX_EVENT_BYTES} bytes`;
  return new ServiceError(error.code, { detail: error.detail, errors: [{ path: `${path}.data`, message }] });
}
