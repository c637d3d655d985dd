// The core of every receiver: verifies a request, records the delivery, calls the handler and makes the answer. A 2xx
// is answered only after the delivery is durably recorded.
// docs/decisions/0013-receivers.md

import { checkBytes, isBytes } from './bytes.ts';
import type { DeliveryLog, DeliveryRecord } from './delivery-log.ts';
import { BodyTooLarge, printError, RawBodyMissing, RejectDelivery, RetryLater } from './receiver-errors.ts';
import {
  describeRefusal,
  printRefusal,
  type RefusalReason,
  type RefusedDelivery,
} from './refused-delivery.ts';
import {
  checkSecrets,
  type ReceivedHeaders,
  readEnvelope,
  readHeader,
  verifyDelivery,
} from './verify-delivery.ts';

/** An event has at most 256 KiB, and the envelope of a CloudEvent adds some 100 bytes. */
const DEFAULT_MAX_BODY_BYTES = 257 * 1024;

/** Added to the replay window, because time passes between the check of a delivery's age and its lookup in the log. */
const PASSING_SECONDS = 10;

/**
 * A received request. `body` is the raw bytes, or a function that reads them after the headers were checked. The
 * function throws BodyTooLarge beyond `maxBytes`, and RawBodyMissing when other code has read the body.
 */
export type ReceivedRequest = {
  method: string;
  headers: ReceivedHeaders;
  body: Uint8Array | ((maxBytes: number) => Promise<Uint8Array>);
};

export type ReceiverAnswer = { status: number; headers: Record<string, string>; body: string };

/** A verified delivery. `payload` is the parsed body, `body` its bytes; `timestamp` is this attempt's Unix seconds. */
export type ReceivedDelivery = {
  deliveryId: string;
  eventType: string;
  eventId?: string | undefined;
  timestamp: number;
  receivedAt: Date;
  payload: unknown;
  body: Uint8Array;
};

/**
 * Processes a delivery. The answer is 2xx when its promise resolves. It may return `ignored` for a delivery that needs
 * no processing, and may throw RetryLater or RejectDelivery. After any other error the answer is 500, and the service
 * sends the delivery again.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is the usual one
export type DeliveryHandler = (delivery: ReceivedDelivery) => Promise<'ignored' | void> | 'ignored' | void;

type Secrets = string | readonly string[];

export type ReceiverOptions = {
  /** The subscription's secret; during a rotation the old and the new secret; or a function that reads them. */
  secrets: Secrets | (() => Secrets | Promise<Secrets>);
  log: DeliveryLog;
  /** Without a handler the log is an inbox, and a recorded delivery is answered with 202. */
  handler?: DeliveryHandler | undefined;
  /** The receiver's limit of a delivery's age, in seconds; 300 by default. A smaller limit of the sender applies. */
  maxAgeSeconds?: number | undefined;
  /** The largest accepted body in bytes; 257 KiB by default, which every delivery fits. */
  maxBodyBytes?: number | undefined;
  /** Receives each error that led to a 5xx, and each failure to store a status; `console.error` by default. */
  onError?: ((error: unknown) => void) | undefined;
  /**
   * Gets each refused request: the reason, and what to check. By default it is a warning on the console, at most
   * once a minute for each reason.
   */
  onRefused?: ((refused: RefusedDelivery) => void) | undefined;
  /** The current time in Unix milliseconds; `Date.now` by default. */
  now?: (() => number) | undefined;
};

/**
 * Receives one delivery in the order of the specification: POST and content type, suite, signature over the raw bytes,
 * age, deduplication, handler.
 *
 * | answer | when |
 * |---|---|
 * | 200 | the handler has finished or returned `ignored`; or the delivery was accepted before (`ignored`) |
 * | 202 | there is no handler, and the log has recorded the delivery |
 * | 401, 405, 408 | a header, the signature, the age or the size is wrong; the service sends the delivery again |
 * | 400 | the signed body is not JSON; the service gives the delivery up |
 * | 422 | the handler threw RejectDelivery |
 * | 500 | the handler, the log or the function for the secrets threw |
 * | 503 | RetryLater was thrown; or another attempt of the delivery is being handled (without `Retry-After`) |
 * @throws {TypeError} when there is no secret, or when the body is not bytes
 * @throws {RawBodyMissing} when other code has read the body
 */
export async function receive(request: ReceivedRequest, options: ReceiverOptions): Promise<ReceiverAnswer> {
  const { method, headers } = request;
  const { now: clock = Date.now, maxAgeSeconds } = options;
  const refuseRequest = (status: number, reason: RefusalReason) => {
    tell(describeRefusal(reason, status, headers, clock()), options);
    return refuse(status, reason);
  };
  const envelope = readEnvelope({ method, headers });
  if (!envelope.ok) return refuseRequest(envelope.status, envelope.refusal);
  const body = await readBody(request.body, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  if (!isBytes(body)) return refuseRequest(body.status, body.reason);
  let secrets: Secrets;
  try {
    secrets = typeof options.secrets === 'function' ? await options.secrets() : options.secrets;
  } catch (error) {
    return refuseError(error, options.onError ?? printError);
  }
  const now = clock();
  const verification = await verifyDelivery({ method, headers, body, secrets, maxAgeSeconds, now });
  if (!verification.ok) return refuseRequest(verification.status, verification.refusal);
  const parsed = parseJson(body);
  if (parsed === undefined) return refuseRequest(400, 'malformed_body');
  const { deliveryId, eventType, timestamp, replayWindowSeconds } = verification;
  const delivery: ReceivedDelivery = {
    ...{ deliveryId, eventType, timestamp, body },
    ...{ eventId: eventIdOf(parsed.value, headers), payload: parsed.value, receivedAt: new Date(now) },
  };
  return accept(delivery, new Date((timestamp + replayWindowSeconds + PASSING_SECONDS) * 1000), options);
}

/** @throws {TypeError} for options that can never work, so that a receiver fails at its start */
export function checkOptions({ secrets }: ReceiverOptions): void {
  if (typeof secrets !== 'function') checkSecrets(secrets);
}

async function accept(
  delivery: ReceivedDelivery,
  replayableUntil: Date,
  { log, handler, onError = printError }: ReceiverOptions,
): Promise<ReceiverAnswer> {
  const record = recordOf(delivery);
  try {
    const acceptance = await log.accept(record, { body: delivery.body, replayableUntil });
    if (acceptance === 'in_progress' && handler !== undefined) return refuse(503, 'in_progress');
    if (acceptance !== 'accepted') return answer(200, { status: 'ignored' });
  } catch (error) {
    return refuseError(error, onError);
  }
  if (handler === undefined) return answer(202, { status: 'accepted' });
  const settle = async (status: DeliveryRecord['status']) => {
    try {
      await log.settle({ ...record, status });
    } catch (error) {
      // The result of the handler decides the answer, even when its status could not be stored.
      onError(error);
    }
  };
  try {
    const status = (await handler(delivery)) === 'ignored' ? 'ignored' : 'processed';
    await settle(status);
    return answer(200, { status });
  } catch (error) {
    await settle('failed');
    return refuseError(error, onError);
  }
}

function recordOf({ deliveryId, eventType, eventId, receivedAt }: ReceivedDelivery): DeliveryRecord {
  const record: DeliveryRecord = {
    delivery_id: deliveryId,
    event_type: eventType,
    received_at: receivedAt,
    status: 'accepted',
  };
  return eventId === undefined ? record : { ...record, event_id: eventId };
}

async function readBody(
  body: ReceivedRequest['body'],
  maxBytes: number,
): Promise<Uint8Array | { status: number; reason: RefusalReason }> {
  const tooLarge = { status: 401, reason: 'body_too_large' } as const;
  let bytes: unknown = body;
  try {
    if (typeof body === 'function') bytes = await body(maxBytes);
  } catch (error) {
    if (error instanceof RawBodyMissing) throw error;
    return error instanceof BodyTooLarge ? tooLarge : { status: 408, reason: 'incomplete_body' };
  }
  checkBytes(bytes);
  return bytes.length > maxBytes ? tooLarge : bytes;
}

/** What the program does with the report must not change the answer. */
function tell(
  refused: RefusedDelivery,
  { onRefused = printRefusal, onError = printError }: ReceiverOptions,
): void {
  try {
    onRefused(refused);
  } catch (error) {
    onError(error);
  }
}

function refuseError(error: unknown, onError: (error: unknown) => void): ReceiverAnswer {
  if (error instanceof RejectDelivery) return refuse(422, 'rejected');
  if (!(error instanceof RetryLater)) {
    onError(error);
    return refuse(500, 'failed');
  }
  const { status, headers, body } = refuse(error.onlyThisDelivery ? 500 : 503, 'retry_later');
  return { status, headers: { ...headers, 'retry-after': String(error.seconds) }, body };
}

function refuse(status: number, error: string): ReceiverAnswer {
  const { headers, body } = answer(status, { error });
  return { status, headers: status === 405 ? { ...headers, allow: 'POST' } : headers, body };
}

function answer(status: number, body: Record<string, string>): ReceiverAnswer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function parseJson(body: Uint8Array): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) };
  } catch {
    return undefined;
  }
}

/** The id of the event in the service's own body, or in a CloudEvent's. A header is not signed, and says nothing. */
function eventIdOf(payload: unknown, headers: ReceivedHeaders): string | undefined {
  const isData = readHeader(headers, 'ce-specversion') !== undefined;
  if (isData || typeof payload !== 'object' || payload === null) return undefined;
  const { event_id, specversion, id } = payload as Readonly<Record<string, unknown>>;
  const found = specversion === undefined ? event_id : id;
  return typeof found === 'string' ? found : undefined;
}
