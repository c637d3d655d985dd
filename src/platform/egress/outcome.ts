// Classifies the end of an attempt. Temporal and logs receive outcomes, so they contain codes only, never text of a
// receiver. Pure.

/**
 * The class of a fault, by its cause: the receiver's application (`status` and below), its network or set-up (`dns` to
 * `protocol`), or the URL of the subscription, which has a forbidden address (`blocked_address`).
 */
export type ErrorClass =
  | 'blocked_address'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'too_large'
  | 'status'
  | 'redirect'
  | 'gone'
  | 'rejected';

/**
 * The end of an attempt. `error`: a short code such as `http:503`, `tls:CERT_HAS_EXPIRED` or `timeout:connect`.
 * `retryAfterMs`: the wait that the answer asked for. With `hold` the endpoint is held, so that all its deliveries
 * wait.
 */
export type Outcome =
  | { kind: 'delivered'; statusCode: number }
  | {
      kind: 'retry';
      statusCode: number | null;
      errorClass: ErrorClass;
      error: string;
      retryAfterMs?: number;
      hold: boolean;
    }
  | { kind: 'gone'; statusCode: number; errorClass: 'gone'; error: string }
  | { kind: 'rejected'; statusCode: number; errorClass: 'rejected'; error: string };

type Unanswered = Extract<Outcome, { kind: 'retry' }>;

type AttemptPhase = 'address' | 'dns' | 'connect' | 'tls' | 'response';

/** The longest wait that an answer can ask for: 24 hours. */
export const MAX_RETRY_AFTER_MS = 86_400_000;

/** Statuses that refuse the delivery itself, so that a further attempt would be refused too. */
const REFUSING_STATUSES = new Set([400, 413, 415, 422]);
const HOLDING_STATUSES = new Set([429, 503]);

const RESPONSE_ERRORS: Readonly<Record<string, ErrorClass>> = {
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ECONNABORTED: 'reset',
  UND_ERR_SOCKET: 'reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'too_large',
  ANSWER_TOO_LONG: 'too_large',
};

/**
 * Classifies a receiver's answer: 2xx is delivered; 410 is gone; 400, 413, 415 and 422 are final. All others are
 * retried, also 3xx (never followed) and unknown statuses, so that a wrong secret, a wrong clock or a missing route
 * loses no delivery. A `Retry-After` on 429 or 503 also holds the endpoint.
 * @param statusCode a final status, not a 1xx
 * @param retryAfterMs the parsed `Retry-After`; undefined when it is missing or invalid
 */
export function classifyResponse(statusCode: number, retryAfterMs?: number | undefined): Outcome {
  const error = `http:${statusCode}`;
  if (statusCode >= 200 && statusCode <= 299) return { kind: 'delivered', statusCode };
  if (statusCode === 410) return { kind: 'gone', statusCode, errorClass: 'gone', error };
  if (REFUSING_STATUSES.has(statusCode))
    return { kind: 'rejected', statusCode, errorClass: 'rejected', error };
  return {
    kind: 'retry',
    statusCode,
    errorClass: statusCode >= 300 && statusCode <= 399 ? 'redirect' : 'status',
    error,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs: Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) }),
    hold: HOLDING_STATUSES.has(statusCode) && retryAfterMs !== undefined && retryAfterMs > 0,
  };
}

/**
 * Classifies a failure without an answer: it is always retried.
 * @param phase of the attempt
 * @param code the error code of the system, OpenSSL or undici, or the name of the rule that refused the address
 */
export function classifyFailure(phase: AttemptPhase, code: string): Unanswered {
  const errorClass = failureClass(phase, code);
  return {
    kind: 'retry',
    statusCode: null,
    errorClass,
    error: `${errorClass}:${shorten(code)}`,
    hold: false,
  };
}

/** Classifies a time-out before the beginning of an answer. */
export function classifyTimeout(phase: AttemptPhase): Unanswered {
  return { kind: 'retry', statusCode: null, errorClass: 'timeout', error: `timeout:${phase}`, hold: false };
}

function failureClass(phase: AttemptPhase, code: string): ErrorClass {
  if (phase === 'address') return 'blocked_address';
  if (phase === 'connect' && code === 'ETIMEDOUT') return 'timeout';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'timeout';
  if (phase !== 'response') return phase;
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') return 'tls';
  return RESPONSE_ERRORS[code] ?? 'protocol';
}

function shorten(code: string): string {
  return code.replace(/[^A-Za-z0-9_]/g, '').slice(0, 64) || 'unknown';
}
