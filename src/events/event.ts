// An event, and the exact bytes of its deliveries' body. Pure.
import { columnsOf } from '../platform/columns.ts';
import { ServiceError } from '../platform/errors/service-error.ts';
import { filterCandidates } from './filter.ts';

export type JsonValue = string | number | boolean | null | JsonValue[] | { [name: string]: JsonValue };
export type JsonObject = { [name: string]: JsonValue };

export const MAX_EVENT_BYTES = 256 * 1024;

/**
 * Events that end access, or admit it again. They are in the feed even when no subscription matches, because resource
 * servers follow them there.
 */
export const ACCESS_TYPES: readonly string[] = [
  'auth.token.revoked',
  'admin.agent.suspended',
  'admin.agent.reactivated',
  'admin.agent.deleted',
  'admin.agent.key.revoked',
  'admin.delegation.revoked',
  'admin.issuer.key.revoked',
];

/** An event that the service emits. Without `eventId` the id of its row is the event id. */
export type EmittedEvent = {
  readonly type: string;
  readonly data: JsonObject;
  readonly occurredAt?: Date | undefined;
  readonly eventId?: string | undefined;
  /** Only this subscription gets the event, even if its filters do not match. */
  readonly onlySubscription?: string | undefined;
  readonly exceptSubscription?: string | undefined;
  readonly test?: true | undefined;
};

/** An event ready for its insert. `id` is its row's id; `candidates` are the filters that match it; `body` is JSON. */
export type EventRecord = {
  readonly id: string;
  readonly tenantId: string;
  readonly eventId: string;
  readonly type: string;
  readonly occurredAt: Date;
  readonly body: string;
  readonly candidates: readonly string[];
  readonly onlySubscription: string | null;
  readonly exceptSubscription: string | null;
  readonly test: boolean;
  readonly trace: string | null;
};

/**
 * Prepares an event: its id, its time and its body `{event_id, type, occurred_at, tenant_id, data}`.
 * @param given `id` is the new row's id; `now` is the time without `occurredAt`; `trace` is the cause's `traceparent`
 * @throws ServiceError `payload_too_large` when the body is larger than 256 KiB
 */
export function prepareEvent(
  event: EmittedEvent,
  given: { id: string; tenantId: string; now: Date; trace?: string | undefined },
): EventRecord {
  const eventId = event.eventId ?? given.id;
  const occurredAt = event.occurredAt ?? given.now;
  const body = JSON.stringify({
    event_id: eventId,
    type: event.type,
    occurred_at: occurredAt.toISOString(),
    tenant_id: given.tenantId,
    data: event.data,
  });
  if (isLarger(body, MAX_EVENT_BYTES))
    throw new ServiceError('payload_too_large', {
      detail: `The body of an event's delivery is at most ${MAX_EVENT_BYTES} bytes.`,
    });
  return {
    id: given.id,
    tenantId: given.tenantId,
    eventId,
    type: event.type,
    occurredAt,
    body,
    candidates: filterCandidates(event.type),
    onlySubscription: event.onlySubscription ?? null,
    exceptSubscription: event.exceptSubscription ?? null,
    test: event.test ?? false,
    trace: given.trace ?? null,
  };
}

/** The parameters of `readEvents`. */
export const EVENT_COLUMNS = columnsOf<EventRecord>(
  {
    uuid: ['id', 'tenantId', 'onlySubscription', 'exceptSubscription'],
    text: ['eventId', 'type', 'body', 'trace'],
    boolean: ['test'],
  },
  {
    occurred_at: ['timestamptz', ({ occurredAt }) => occurredAt.toISOString()],
    joined: ['text', ({ candidates }) => candidates.join(' ')],
  },
);

/** Text that reads events with the array `candidates`. @param more further columns: name → SQL type */
export const readEvents = (first = 1, more: Readonly<Record<string, string>> = {}): string =>
  `SELECT *, string_to_array(joined, ' ') AS candidates FROM ${EVENT_COLUMNS.from('event', first, more)}`;

// A UTF-16 unit is one to three bytes of UTF-8, so most texts need not be encoded.
function isLarger(text: string, bytes: number): boolean {
  if (text.length > bytes) return true;
  return text.length * 3 > bytes && new TextEncoder().encode(text).length > bytes;
}
