// Classifies the end of an attempt. Pure. An outcome goes into Temporal and into logs, so it holds codes only, never
// text that a receiver chose.

/**
 * The kind of fault, and its cause: the receiver's application (`status` and below), its network or its set-up (`dns`
 * to `protocol`), or the subscription, whose URL has an address to which requests are forbidden (`blocked_address`).
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
 * The end of an attempt. `error` is a short code such as `http:503`, `tls:CERT_HAS_EXPIRED` or `timeout:connect`.
 * `retryAfterMs` is the wait that a retryable answer asked for; with `hold` it holds the subscription's other
 * deliveries too.
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

/** The outcome of an attempt that got no answer. */
type Unanswered = Extract<Outcome, { kind: 'retry' }>;

/** The phase in which an attempt failed. */
type AttemptPhase = 'address' | 'dns' | 'connect' | 'tls' | 'response';

/** Statuses that refuse the delivery itself: a further attempt would be refused too. */
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
 * Classifies a receiver's answer: 2xx is delivered; 410 is gone; 400, 413, 415 and 422 are final; everything else, also
 * 3xx (never followed) and unknown statuses, is tried again, so that a wrong secret, a wrong clock or a route that is
 * not deployed yet loses no delivery. A `Retry-After` on 429 or 503 holds the other deliveries as well.
 * @param statusCode a final status, not a 1xx
 * @param retryAfterMs the parsed `Retry-After`, undefined when there is none that is valid
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
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    hold: HOLDING_STATUSES.has(statusCode) && retryAfterMs !== undefined && retryAfterMs > 0,
  };
}

/**
 * Classifies a failure without an answer: always another attempt.
 * @param phase of the attempt
 * @param code the system's, OpenSSL's or undici's error code, or the name of the rule that refused the address
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

/** Classifies a time-out before an answer began. */
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
