// A webhook subscription and its rules. Pure.

import { isFilter, isPattern, normalizeFilter } from '../../events/filter.ts';
import type { Network } from '../../platform/egress/address-rules.ts';
import { checkCustomHeaders } from '../../platform/egress/header-rules.ts';
import { checkReceiverUrl, receiverHost } from '../../platform/egress/url-rules.ts';
import { invalidField } from '../../platform/errors/service-error.ts';
import type { SubscriptionRow } from './subscription.model.ts';

/**
 * The purpose of a subscription. Patterns are for `security` and `audit` only. Source: Specification, "Event types".
 */
export const SINKS = ['standard', 'security', 'audit'] as const;
export type Sink = (typeof SINKS)[number];

/**
 * A row of `subscriptions`. `filters` are the `eventTypes` as they are stored for matching; `retryPolicy` null is the
 * usual one.
 */
export type SubscriptionRecord = SubscriptionRow;

/**
 * Seconds for which a signature counts; days after which an endpoint that only fails is deactivated; deliveries a
 * second.
 */
export const BOUNDS = {
  maxAge: { least: 60, most: 3_600, usual: 300 },
  disableAfterDays: { least: 1, most: 365, usual: 14 },
  rateLimit: { least: 1, most: 10_000 },
  eventTypes: 100,
} as const;

/** What an answer shows instead of a header's value that looks like a credential; sent back, it keeps the value. */
export const MASK = '***';

const SENSITIVE_HEADER = /auth|cookie|credential|key|password|secret|session|signature|token/;

/**
 * @param text the receiver's URL as it was sent
 * @param admitted networks that the operator admits
 * @returns the normalised URL, and its host with the port
 * @throws ServiceError `invalid_request` with the reason
 */
export function readReceiverUrl(text: string, admitted: readonly Network[]): { url: string; host: string } {
  const verdict = checkReceiverUrl(text, admitted);
  if (!verdict.ok) throw invalidField('body.url', verdict.message);
  return { url: verdict.url.href, host: receiverHost(verdict.url) };
}

/**
 * @param eventTypes exact names and patterns
 * @returns the filters by which events are matched
 * @throws ServiceError `invalid_request` naming the wrong one
 */
export function readFilters(eventTypes: readonly string[]): string[] {
  const wrong = eventTypes.findIndex((filter) => !isFilter(filter));
  if (wrong >= 0) {
    throw invalidField(
      `body.event_types.${wrong}`,
      'must be an event type (2 to 5 segments of [a-z][a-z0-9_]* joined by dots), a prefix such as auth.*, or *',
    );
  }
  return [...new Set(eventTypes.map(normalizeFilter))];
}

/**
 * Decides the sink: with a pattern and none chosen now, a standard one becomes `audit`. Source: Specification, "Event
 * types".
 * @param chosen the sink in this request
 * @param stored the sink of the subscription
 * @throws ServiceError `invalid_request` when patterns meet a chosen `standard`
 */
export function decideSink(filters: readonly string[], chosen: Sink | undefined, stored?: Sink): Sink {
  const sink = chosen ?? stored ?? 'standard';
  if (sink !== 'standard' || !filters.some(isPattern)) return sink;
  if (chosen === undefined) return 'audit';
  throw invalidField('body.sink', 'must be security or audit: event_types has a pattern');
}

/**
 * Judges a caller's signing secret: at least 32 bytes of UTF-8, at least 8 of them different. Source: Specification,
 * "Limits".
 * @throws ServiceError `invalid_request` that never repeats the secret
 */
export function checkSecret(secret: string): void {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < 32) throw invalidField('body.secret', 'must have at least 32 bytes of entropy');
  if (new Set(bytes).size < 8)
    throw invalidField('body.secret', 'must have at least 8 different bytes: it can be guessed');
}

/**
 * Judges the headers that a subscription adds to its deliveries.
 * @param headers what the request sends
 * @param stored what the subscription has, in the clear; masked values of the request keep these
 * @returns lower-case names and values
 * @throws ServiceError `invalid_request` naming each wrong header
 */
export function readHeaders(
  headers: Readonly<Record<string, string>>,
  stored: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const merged = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (value !== MASK || !isSensitive(name)) return [name, value];
      const kept = stored[name.toLowerCase()];
      if (kept === undefined) throw invalidField(`body.headers.${name}`, 'is masked, and no value is stored');
      return [name, kept];
    }),
  );
  const verdict = checkCustomHeaders(merged);
  if (verdict.ok) return verdict.headers;
  const [first] = verdict.problems;
  const path = first === undefined || first.name === '' ? 'body.headers' : `body.headers.${first.name}`;
  throw invalidField(path, first?.message ?? 'cannot be used');
}

/** The headers as answers show them: values of those that look like credentials are masked. */
export function maskHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, isSensitive(name) ? MASK : value]),
  );
}

function isSensitive(name: string): boolean {
  return SENSITIVE_HEADER.test(name.toLowerCase());
}
