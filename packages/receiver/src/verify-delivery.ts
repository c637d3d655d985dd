// Verifies deliveries for receivers, in any JavaScript runtime. The signature over the raw bytes is checked before the
// age, and the body is not parsed.

import { checkBytes } from './bytes.ts';
import { canonicalString } from './canonical-string.ts';
import {
  DELIVERY_HEADER,
  EVENT_HEADER,
  MAX_AGE_HEADER,
  SUITE_HEADER,
  TIMESTAMP_HEADER,
} from './delivery-headers.ts';
import { findSuite, parseSignature, type SignatureSuite } from './suites.ts';

/**
 * The reasons to refuse a delivery, in the order of the checks, each with the HTTP status of the answer. Each may come
 * from a wrong secret, clock or version, or from a proxy that changes headers, so the service sends the delivery again
 * after all of them.
 */
export const REFUSALS = {
  method_not_allowed: 405,
  unsupported_media_type: 401,
  unsupported_suite: 401,
  malformed_headers: 401,
  invalid_signature: 401,
  stale_timestamp: 401,
  future_timestamp: 401,
} as const;

export type Refusal = keyof typeof REFUSALS;

/** A receiver records `deliveryId` before any side effect. `timestamp` is in Unix seconds. */
export type Verification =
  | { ok: true; deliveryId: string; eventType: string; timestamp: number; replayWindowSeconds: number }
  | Refused;

export type Refused = { ok: false; refusal: Refusal; status: number };

/**
 * The headers of a request: the web platform's `Headers`, or an object with names in any case, as Node, gateways and
 * functions have it. A value may be a list.
 */
export type ReceivedHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** The default limit of a delivery's age, in seconds. */
export const DEFAULT_MAX_AGE_SECONDS = 300;

/** How far a timestamp may be in the future, in seconds, because two clocks differ. */
export const FUTURE_TOLERANCE_SECONDS = 60;

const HASHES = { sha256: 'SHA-256', sha512: 'SHA-512' } as const;

/** The values of a delivery's headers before they are verified. */
type Envelope = {
  suite: SignatureSuite;
  values: { timestamp: string; maxAge: string; deliveryId: string; eventType: string };
};

/**
 * Makes the checks that need no body: method and content type, suite, and the presence of all signed values. A receiver
 * can therefore refuse a request without reading its body. The returned values are not verified.
 */
export function readEnvelope({
  method,
  headers,
}: {
  method: string;
  headers: ReceivedHeaders;
}): ({ ok: true } & Envelope) | Refused {
  if (method !== 'POST') return refuse('method_not_allowed');
  if (!isJson(readHeader(headers, 'Content-Type'))) return refuse('unsupported_media_type');
  const suite = findSuite(readHeader(headers, SUITE_HEADER) ?? '');
  if (suite === undefined) return refuse('unsupported_suite');
  const timestamp = readHeader(headers, TIMESTAMP_HEADER);
  const maxAge = readHeader(headers, MAX_AGE_HEADER);
  const deliveryId = readHeader(headers, DELIVERY_HEADER);
  const eventType = readHeader(headers, EVENT_HEADER);
  if (!isSeconds(timestamp) || !isSeconds(maxAge) || !isOneLine(deliveryId) || !isOneLine(eventType)) {
    return refuse('malformed_headers');
  }
  return { ok: true, suite, values: { timestamp, maxAge, deliveryId, eventType } };
}

/**
 * Verifies a delivery in the order of the specification: method and content type, suite, signature over the exact raw
 * body (in constant time), age. The caller then records `deliveryId` before any side effect, and drops a delivery that
 * it recorded within the last `replayWindowSeconds`. Specification: Events, Receiver rules.
 * @param options.body the raw bytes of the body, before any parsing
 * @param options.secrets the subscription's secret; during a rotation the old and the new secret; either may have made
 *   the main signature or the `-Next` signature
 * @param options.maxAgeSeconds the receiver's limit; the sender's limit applies if it is smaller
 * @param options.now the current time in Unix milliseconds
 * @throws {TypeError} when there is no secret, or an empty secret, with which anyone could sign; when the body is not
 *   bytes
 */
export async function verifyDelivery({
  method,
  headers,
  body,
  secrets,
  maxAgeSeconds = DEFAULT_MAX_AGE_SECONDS,
  now = Date.now(),
}: {
  method: string;
  headers: ReceivedHeaders;
  body: Uint8Array;
  secrets: string | readonly string[];
  maxAgeSeconds?: number | undefined;
  now?: number | undefined;
}): Promise<Verification> {
  const keys = checkSecrets(secrets);
  checkBytes(body);
  const envelope = readEnvelope({ method, headers });
  if (!envelope.ok) return envelope;
  const { suite, values } = envelope;
  if (!(await isSigned(suite, headers, canonicalString({ suite: suite.name, ...values }, body), keys))) {
    return refuse('invalid_signature');
  }
  const timestamp = Number(values.timestamp);
  const age = now / 1000 - timestamp;
  const replayWindowSeconds = Math.min(Number(values.maxAge), maxAgeSeconds);
  if (age > replayWindowSeconds) return refuse('stale_timestamp');
  if (age < -FUTURE_TOLERANCE_SECONDS) return refuse('future_timestamp');
  const { deliveryId, eventType } = values;
  return { ok: true, deliveryId, eventType, timestamp, replayWindowSeconds };
}

/** @returns the secrets as a list @throws {TypeError} without a secret, or with an empty one that anyone could know */
export function checkSecrets(secrets: string | readonly string[]): readonly string[] {
  // Undefined is what a missing variable of the environment gives to a caller without types.
  const keys = typeof secrets === 'string' ? [secrets] : (secrets ?? []);
  if (keys.length === 0 || !keys.every((key) => typeof key === 'string' && key !== '')) {
    throw new TypeError('secrets: the secret of the subscription is missing');
  }
  return keys;
}

function refuse(refusal: Refusal): Refused {
  return { ok: false, refusal, status: REFUSALS[refusal] };
}

async function isSigned(
  suite: SignatureSuite,
  headers: ReceivedHeaders,
  signed: Uint8Array<ArrayBuffer>,
  secrets: readonly string[],
): Promise<boolean> {
  const signatures = [suite.signatureHeader, suite.nextSignatureHeader]
    .map((name) => parseSignature(suite, readHeader(headers, name) ?? ''))
    .filter((signature) => signature !== undefined);
  let found = false;
  for (const secret of secrets) {
    const expected = await hmacHex(HASHES[suite.hash], secret, signed);
    for (const signature of signatures) found = equalInConstantTime(signature, expected) || found;
  }
  return found;
}

async function hmacHex(hash: string, secret: string, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: 'HMAC', hash };
  const key = await crypto.subtle.importKey('raw', new TextEncoder().encode(secret), algorithm, false, [
    'sign',
  ]);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed));
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// Both texts are lowercase hex of the suite's length, so the time does not depend on the first difference.
function equalInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let index = 0; index < b.length; index++) difference |= a.charCodeAt(index) ^ b.charCodeAt(index);
  return difference === 0;
}

/**
 * Reads a header by its name in any case. RFC 9110, section 5.1. A repeated header is ambiguous and counts as missing.
 * The web platform joins repeated headers, and their verification fails.
 */
export function readHeader(headers: ReceivedHeaders, name: string): string | undefined {
  if (isHeadersObject(headers)) return headers.get(name) ?? undefined;
  const wanted = name.toLowerCase();
  const values = Object.entries(headers).flatMap(([key, value]) =>
    key.toLowerCase() === wanted && value !== undefined ? value : [],
  );
  return values.length === 1 ? values[0] : undefined;
}

function isHeadersObject(headers: ReceivedHeaders): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function';
}

function isJson(contentType: string | undefined): boolean {
  const type = contentType?.split(';')[0]?.trim().toLowerCase();
  return type === 'application/json' || type === 'application/cloudevents+json';
}

function isSeconds(text: string | undefined): text is string {
  return text !== undefined && /^\d{1,15}$/.test(text);
}

function isOneLine(text: string | undefined): text is string {
  return text !== undefined && text !== '' && !/[\r\n]/.test(text);
}
