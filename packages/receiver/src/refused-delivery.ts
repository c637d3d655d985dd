// Tells the program of a receiver why a request was refused, because the sender sees only the reason's name.

import { DELIVERY_HEADER, EVENT_HEADER, TIMESTAMP_HEADER } from './delivery-headers.ts';
import { type ReceivedHeaders, type Refusal, readHeader } from './verify-delivery.ts';

/** Why a request was refused: the `error` of the answer. */
export type RefusalReason = Refusal | 'body_too_large' | 'incomplete_body' | 'malformed_body';

/**
 * A refused request. `deliveryId`, `eventType` and `skewSeconds` are from its headers, which anybody can send: nothing
 * has verified them, unless the reason is the age or the body.
 */
export type RefusedDelivery = {
  reason: RefusalReason;
  /** The status of the answer. */
  status: number;
  /**
   * Whether the service gives the delivery up, as it does when the signed body itself is at fault. Otherwise it sends
   * it again, and a mended receiver loses nothing.
   */
  final: boolean;
  /** What to check, in English. */
  message: string;
  deliveryId?: string | undefined;
  eventType?: string | undefined;
  /** This machine's clock minus the time of the signature: large for an old delivery, negative for a future one. */
  skewSeconds?: number | undefined;
};

/** At most one line for each reason in this time, so that a flood of forged requests does not fill a log. */
const QUIET_MILLISECONDS = 60_000;

const CHECKS: Readonly<Record<RefusalReason, string>> = {
  method_not_allowed: 'deliveries are POST requests',
  unsupported_media_type: 'the content type is not that of a delivery; check what a proxy does with it',
  unsupported_suite:
    'X-Service-Signature-Suite is absent or unknown: check that a proxy keeps the X-Service headers, that ' +
    '`signatures` of the subscription contains service-webhook-v1, and the version of this package',
  malformed_headers:
    'an X-Service header is absent, repeated or malformed: check what a proxy does with them',
  invalid_signature:
    'no secret of this receiver made the signature: check that it has the secret of this subscription, and that ' +
    'nothing changes the body on the way',
  stale_timestamp: 'the signature is too old: check the clock of this machine',
  future_timestamp: 'the signature is from the future: check the clock of this machine',
  body_too_large: 'the body is larger than maxBodyBytes; a delivery of the service fits the default',
  incomplete_body: 'the connection ended before the body was complete',
  malformed_body: 'the signed body is not JSON',
};

/** Describes a refusal of a request. @param now the current time in Unix milliseconds */
export function describeRefusal(
  reason: RefusalReason,
  status: number,
  headers: ReceivedHeaders,
  now: number,
): RefusedDelivery {
  const final = reason === 'malformed_body';
  const timestamp = readHeader(headers, TIMESTAMP_HEADER) ?? '';
  const skewSeconds = /^\d{1,15}$/.test(timestamp) ? Math.round(now / 1000 - Number(timestamp)) : undefined;
  const deliveryId = printable(readHeader(headers, DELIVERY_HEADER));
  const eventType = printable(readHeader(headers, EVENT_HEADER));
  return { reason, status, final, message: CHECKS[reason], deliveryId, eventType, skewSeconds };
}

/** Only what an id or a type of the service can be, so that no header writes into a log what it likes. */
function printable(value: string | undefined): string | undefined {
  return value !== undefined && /^[\w.-]{1,128}$/.test(value) ? value : undefined;
}

const quiet = new Map<RefusalReason, { until: number; unprinted: number }>();

function describeSkew(seconds: number): string {
  return seconds < 0
    ? `Its time is ${-seconds} s ahead of this clock.`
    : `By this clock it was signed ${seconds} s ago.`;
}

/** Warns on the console, at most once a minute for each reason, and then says how many refusals had no line. */
export function printRefusal(refused: RefusedDelivery): void {
  const { reason, status, final, message, deliveryId, skewSeconds } = refused;
  const now = Date.now();
  const known = quiet.get(reason);
  if (known !== undefined && known.until > now) {
    known.unprinted += 1;
    return;
  }
  quiet.set(reason, { until: now + QUIET_MILLISECONDS, unprinted: 0 });
  const isAge = reason === 'stale_timestamp' || reason === 'future_timestamp';
  const parts = [
    `Refused delivery ${deliveryId ?? '(without an id)'}: ${status} ${reason}; ${message}.`,
    isAge && skewSeconds !== undefined ? describeSkew(skewSeconds) : '',
    final ? 'The service does not send it again.' : 'The service sends it again.',
    known === undefined || known.unprinted === 0 ? '' : `(${known.unprinted} more since the last line.)`,
  ];
  // biome-ignore lint/suspicious/noConsole: the one output that every JavaScript runtime has
  console.warn(parts.filter((part) => part !== '').join(' '));
}
