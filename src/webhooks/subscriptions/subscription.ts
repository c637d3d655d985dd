// A webhook subscription and its rules. Pure.

import { findEventType } from '../../events/catalogue.ts';
import type { EmittedEvent, JsonObject } from '../../events/event.ts';
import { isFilter, isPattern, normalizeFilter } from '../../events/filter.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { checkCustomHeaders } from '../../platform/egress/header-rules.ts';
import { checkReceiverUrl, receiverHost } from '../../platform/egress/url-rules.ts';
import { invalidField } from '../../platform/errors/service-error.ts';
import { orderSignatures, type SignatureName, USUAL_SIGNATURES } from '../signing/signatures.ts';
import type { Envelope } from './envelope.ts';
import type { RetryPolicy } from './retry-schedule.ts';

/** The purpose of a subscription. Only `security` and `audit` allow patterns. Source: Specification, "Event types". */
export const SINKS = ['standard', 'security', 'audit'] as const;
export type Sink = (typeof SINKS)[number];

/** The fields that a caller sets. A null `retryPolicy` is the default policy; a null `rateLimit` is no limit. */
export type SubscriptionInput = {
  readonly url: string | undefined;
  readonly eventTypes: readonly string[] | undefined;
  readonly envelope: Envelope | undefined;
  readonly description: string | null | undefined;
  readonly active: boolean | undefined;
  readonly sink: Sink | undefined;
  readonly signatures: readonly SignatureName[] | undefined;
  readonly maxAge: number | undefined;
  readonly rateLimit: number | null | undefined;
  readonly retryPolicy: RetryPolicy | null | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly disableAfterDays: number | undefined;
};

export type NewSubscription = Partial<SubscriptionInput> & {
  readonly url: string;
  readonly eventTypes: readonly string[];
  readonly secret?: string | undefined;
};

export type SubscriptionPatch = Partial<SubscriptionInput> & {
  /** Whether waiting deliveries are delivered or canceled when the subscription is activated. */
  readonly held?: 'deliver' | 'discard' | undefined;
};

/**
 * `maxAge`: seconds for which a signature is valid. `disableAfterDays`: days of failures after which a subscription is
 * deactivated. `rateLimit`: attempts per second. `eventTypes`: the most entries.
 */
export const BOUNDS = {
  maxAge: { least: 60, most: 3_600, usual: 300 },
  disableAfterDays: { least: 1, most: 365, usual: 14 },
  rateLimit: { least: 1, most: 10_000 },
  eventTypes: 100,
} as const;

/** Replaces the value of a custom header in answers. A request with this value keeps the stored value. */
export const MASK = '***';

/** Custom headers that carry no credential. Any other name may, so its value is shown to nobody. */
const SHOWN_HEADERS: readonly string[] = [
  'accept',
  'accept-charset',
  'accept-language',
  'cache-control',
  'pragma',
  'prefer',
  'priority',
];

/**
 * @param admitted networks that the operator admits
 * @param path the field of the request
 * @returns the normalised URL, and its host with the port
 * @throws ServiceError `invalid_request` with the reason
 */
export function readReceiverUrl(
  text: string,
  admitted: readonly Network[],
  path = 'body.url',
): { url: string; host: string } {
  const verdict = checkReceiverUrl(text, admitted);
  if (!verdict.ok) throw invalidField(path, verdict.message);
  return { url: verdict.url.href, host: receiverHost(verdict.url) };
}

/** Normalises event types and patterns to filters. @throws ServiceError `invalid_request` naming the wrong entry */
export function readFilters(eventTypes: readonly string[]): string[] {
  const wrong = eventTypes.findIndex((filter) => !isFilter(filter));
  if (wrong >= 0)
    throw invalidField(
      `body.event_types.${wrong}`,
      'must be an event type (2 to 5 segments of [a-z][a-z0-9_]* joined by dots), a prefix such as auth.*, or *',
    );
  return [...new Set(eventTypes.map(normalizeFilter))];
}

/**
 * Decides the sink. When a filter is a pattern and the request chooses no sink, `standard` becomes `audit`. Source:
 * Specification, "Event types".
 * @param chosen the sink in this request
 * @param stored the sink of the subscription
 * @throws ServiceError `invalid_request` when the request chooses `standard` and a filter is a pattern
 */
export function decideSink(filters: readonly string[], chosen: Sink | undefined, stored?: Sink): Sink {
  const sink = chosen ?? stored ?? 'standard';
  if (sink !== 'standard' || !filters.some(isPattern)) return sink;
  if (chosen === undefined) return 'audit';
  throw invalidField('body.sink', 'must be security or audit: event_types has a pattern');
}

/**
 * Checks a caller's signing secret: at least 32 bytes of UTF-8, at least 8 of them different. Source: Specification,
 * "Limits".
 * @throws ServiceError `invalid_request`, which does not contain the secret
 */
export function checkSecret(secret: string): void {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < 32) throw invalidField('body.secret', 'must have at least 32 bytes of entropy');
  if (new Set(bytes).size < 8)
    throw invalidField('body.secret', 'must have at least 8 different bytes: it can be guessed');
}

/**
 * Chooses which stored headers may go to a URL. A masked value goes to no other URL than the one that it was given for:
 * who may change a URL may not read the value, and a host may serve many parties by their paths.
 * @param before the subscription's URL, and its headers in the clear
 */
export function headersFor(
  url: string,
  before: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
): Readonly<Record<string, string>> {
  if (url === before.url) return before.headers;
  return Object.fromEntries(Object.entries(before.headers).filter(([name]) => !isMasked(name)));
}

/**
 * Checks the headers that a subscription adds to its deliveries.
 * @param stored headers in the clear that may go to the URL; they replace masked values of the request
 * @param pathOf the field of the request that has the header
 * @returns the headers with lower-case names
 * @throws ServiceError `invalid_request` naming each wrong header
 */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  stored: Readonly<Record<string, string>> = {},
  pathOf = (name: string): string => (name === '' ? 'body.headers' : `body.headers.${name}`),
): Record<string, string> {
  const merged = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (value !== MASK || !isMasked(name)) return [name, value];
      const kept = stored[name.toLowerCase()];
      if (kept === undefined)
        throw invalidField(pathOf(name), 'is masked, and no value is stored for this URL');
      return [name, kept];
    }),
  );
  const verdict = checkCustomHeaders(merged);
  if (verdict.ok) return verdict.headers;
  const [first] = verdict.problems;
  throw invalidField(pathOf(first?.name ?? ''), first?.message ?? 'cannot be used');
}

/**
 * The event that a stream itself gets when the service stops it, once it can get events again (SSF §8.1.5). None for a
 * subscription that is no stream, and for a stop that was asked for.
 */
export function newsOfStop(
  { id, streamAudience }: { id: string; streamAudience: string | null },
  reason: string | undefined,
): EmittedEvent[] {
  if (streamAudience === null || reason === undefined) return [];
  const data = { subscription_id: id, status: 'paused', reason };
  return [{ type: 'webhook.stream.updated', data, onlySubscription: id, test: true }];
}

/**
 * Decides the signatures: those of this request in one order, or the stored ones, or the usual ones.
 * @param headers the subscription's headers after this request, with lower-case names
 * @throws ServiceError `invalid_request` naming the field that makes a second `Authorization`
 */
export function decideSignatures(
  chosen: readonly SignatureName[] | undefined,
  headers: Readonly<Record<string, string>>,
  stored: readonly SignatureName[] = USUAL_SIGNATURES,
): readonly SignatureName[] {
  const signatures = chosen === undefined ? stored : orderSignatures(chosen);
  if (!signatures.includes('jwt') || headers.authorization === undefined) return signatures;
  throw chosen === undefined
    ? invalidField('body.headers.authorization', 'cannot be set: signatures has jwt')
    : invalidField('body.signatures', 'cannot have jwt: headers sets Authorization');
}

/** Masks the values of headers, but those of a few that carry no credential. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isMasked(name) ? MASK : value]),
  );
}

function isMasked(name: string): boolean {
  return !SHOWN_HEADERS.includes(name.toLowerCase());
}

/** Returns the names of the fields that a change gives. */
export function fieldsOf(patch: SubscriptionPatch): string[] {
  return Object.entries(patch).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

/** The event that a test delivery brings, where no type is named. */
export const TEST_EVENT = 'webhook.test';

/** @returns the data of a test event: the subscription for `webhook.test`, the catalogue's example for other types */
export function testDataOf(eventType: string, subscriptionId: string): JsonObject {
  if (eventType === TEST_EVENT)
    return { subscription_id: subscriptionId, message: 'This is a test delivery.' };
  const known = findEventType(eventType);
  if (known === undefined)
    throw invalidField('body.event_type', 'is not in the catalogue (GET /api/v1/event-types)');
  return known.example;
}
