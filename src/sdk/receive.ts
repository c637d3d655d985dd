// The core of every receiver: from a request's raw bytes to the answer, around a handler and a delivery log. A handler
// runs only for verified and recorded deliveries, and 2xx is answered only after durable acceptance.

import { isBytes } from './bytes.ts';
import type { DeliveryLog, DeliveryRecord } from './delivery-log.ts';
import { BodyTooLarge, printError, RawBodyMissing, RejectDelivery, RetryLater } from './receiver-errors.ts';
import { checkSecrets, type ReceivedHeaders, readEnvelope, verifyDelivery } from './verify-delivery.ts';

/** The service sends at most 256 KiB. */
const DEFAULT_MAX_BODY_BYTES = 256 * 1024;

/** The clock continues between the check of a delivery's age and its lookup in the log. */
const PASSING_SECONDS = 10;

/**
 * A request as it came: the raw bytes of its body, or a function that reads them after the headers have passed their
 * checks. The function throws BodyTooLarge beyond `maxBytes`, and RawBodyMissing when another reader has consumed them.
 */
export type ReceivedRequest = {
  method: string;
  headers: ReceivedHeaders;
  body: Uint8Array | ((maxBytes: number) => Promise<Uint8Array>);
};

/** The answer; header names are lowercase. */
export type ReceiverAnswer = { status: number; headers: Record<string, string>; body: string };

/**
 * A verified delivery. `payload` is the parsed body, `body` its raw bytes; `timestamp` is that of this attempt, in Unix
 * seconds.
 */
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
 * Processes a delivery; the answer is 2xx once its promise resolves. It may return `ignored` for a delivery that needs
 * no processing, and throw RetryLater or RejectDelivery; any other error is answered with 500, and the delivery is sent
 * again.
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that returns nothing is the usual one
export type DeliveryHandler = (delivery: ReceivedDelivery) => Promise<'ignored' | void> | 'ignored' | void;

type Secrets = string | readonly string[];

export type ReceiverOptions = {
  /** The subscription's secret, during a rotation the old and the new one; or a function that reads them. */
  secrets: Secrets | (() => Secrets | Promise<Secrets>);
  /** Where deliveries are recorded before any side effect. */
  log: DeliveryLog;
  /** Without a handler the log is an inbox: a recorded delivery is answered with 202. */
  handler?: DeliveryHandler | undefined;
  /**
   * The receiver's own limit on a delivery's age, in seconds; 300 when absent. The sender's applies when it is smaller.
   */
  maxAgeSeconds?: number | undefined;
  /** The longest body taken, in bytes; 256 KiB when absent. */
  maxBodyBytes?: number | undefined;
  /** Receives each error that led to a 5xx, and each status that could not be stored; `console.error` when absent. */
  onError?: ((error: unknown) => void) | undefined;
  /** The present in Unix milliseconds; `Date.now` when absent. */
  now?: (() => number) | undefined;
};

/**
 * Receives one delivery in the order of the specification: POST and content type, suite, signature over the raw bytes,
 * age, deduplication, handler.
 *
 * | answer | when |
 * |---|---|
 * | 200 | the handler has finished, or had nothing to do; or the delivery had been accepted before (`ignored`) |
 * | 202 | there is no handler, and the log has it |
 * | 401 | the signature, its suite or the age is wrong: a fault of the set-up, and the delivery is sent again |
 * | 400, 405, 408, 413, 415 | refused, with the reason as `error` in the body |
 * | 422 | the handler threw RejectDelivery |
 * | 500 | the handler, the log or the function for the secrets threw |
 * | 503 | RetryLater was thrown; or another attempt of the delivery is being handled, which has no `Retry-After` |
 *
 * @throws {TypeError} when there is no secret
 * @throws {RawBodyMissing} when the body had been read before
 */
export async function receive(request: ReceivedRequest, options: ReceiverOptions): Promise<ReceiverAnswer> {
  const { method, headers } = request;
  const envelope = readEnvelope({ method, headers });
  if (!envelope.ok) return refuse(envelope.status, envelope.refusal);
  const body = await readBody(request.body, options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES);
  if (!isBytes(body)) return body;
  let secrets: Secrets;
  try {
    secrets = typeof options.secrets === 'function' ? await options.secrets() : options.secrets;
  } catch (error) {
    return refuseError(error, options.onError ?? printError);
  }
  const now = options.now?.() ?? Date.now();
  const { maxAgeSeconds } = options;
  const verification = verifyDelivery({ method, headers, body, secrets, maxAgeSeconds, now });
  if (!verification.ok) return refuse(verification.status, verification.refusal);
  const parsed = parseJson(body);
  if (parsed === undefined) return refuse(400, 'malformed_body');
  const { deliveryId, eventType, timestamp, replayWindowSeconds } = verification;
  const delivery: ReceivedDelivery = {
    ...{ deliveryId, eventType, timestamp, body },
    ...{ eventId: eventIdOf(parsed.value), payload: parsed.value, receivedAt: new Date(now) },
  };
  return accept(delivery, new Date((timestamp + replayWindowSeconds + PASSING_SECONDS) * 1000), options);
}

/**
 * @throws {TypeError} for options that can never work, so that a receiver fails when it is made and not at each
 *   delivery
 */
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
      // The handler's end decides the answer, also when its status could not be stored.
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
): Promise<Uint8Array | ReceiverAnswer> {
  try {
    const bytes = isBytes(body) ? body : await body(maxBytes);
    return bytes.length > maxBytes ? refuse(413, 'body_too_large') : bytes;
  } catch (error) {
    if (error instanceof RawBodyMissing) throw error;
    return error instanceof BodyTooLarge ? refuse(413, 'body_too_large') : refuse(408, 'incomplete_body');
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

function eventIdOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !('event_id' in payload)) return undefined;
  return typeof payload.event_id === 'string' ? payload.event_id : undefined;
}
