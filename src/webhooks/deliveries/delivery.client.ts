// Makes one attempt: signs the delivery, posts it and returns the outcome. It follows no redirect, and ends at its
// deadline. Each fault of a receiver becomes an outcome.

import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { type GuardedAgent, newConnectionTrace } from '../../platform/egress/guarded-agent.client.ts';
import { type ConnectionTrace, EgressError } from '../../platform/egress/guarded-connection.client.ts';
import {
  answerErrorCode,
  type Exchange,
  exchange,
  TIMED_OUT,
  type TracedRequest,
} from '../../platform/egress/guarded-exchange.client.ts';
import {
  classifyFailure,
  classifyResponse,
  classifyTimeout,
  type Outcome,
} from '../../platform/egress/outcome.ts';
import { checkReceiverUrl, type UrlVerdict } from '../../platform/egress/url-rules.ts';
import { NO_TRACING, type Tracing } from '../../platform/tracing/tracing.ts';
import { type DeliveryToSign, signedHeaders } from '../signing/signed-headers.node.ts';
import { refineOutcome } from '../streams/token-refusal.ts';
import { excerptOf, MAX_EXCERPT_BYTES } from './response-excerpt.ts';
import { parseRetryAfter } from './retry-after.ts';

/** The time limit of one attempt, from the DNS lookup to the end of the answer. */
export const DEFAULT_TIMEOUT_MS = 15_000;

export const MAX_RESPONSE_BYTES = 64 * 1024;

const USER_AGENT = 'Countersign-Webhooks/1';

/** The headers of a push (RFC 8935 §2.1). */
const TOKEN_HEADERS = { 'Content-Type': 'application/secevent+jwt', Accept: 'application/json' };

const VERDICTS_KEPT = 1_000;

/** The input of one attempt. `headers` are the subscription's; `maxAge` is in seconds; `signal` aborts the attempt. */
export type Attempt = Omit<DeliveryToSign, 'timestamp' | 'secrets' | 'origin'> & {
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Null: the body is a security event token, which carries its own signature. */
  secrets: DeliveryToSign['secrets'] | null;
  /** The media type of the body; `application/json` by default. */
  contentType?: string | undefined;
  timeoutMs?: number | undefined;
  signal?: AbortSignal | undefined;
  /** The database's time in Unix milliseconds, for the signature and for `Retry-After` dates. */
  now(): number;
};

/**
 * The times of an attempt in milliseconds. A phase that did not occur is null, such as `dns_ms` on a reused connection.
 * `first_byte_ms` runs from the sending of the request to the first byte of the answer. `total_ms` is the whole
 * attempt, including the reading of the answer.
 */
export type AttemptPhases = {
  dns_ms: number | null;
  connect_ms: number | null;
  tls_ms: number | null;
  first_byte_ms: number | null;
  total_ms: number;
};

/** The result of an attempt. `statusCode` is null without an answer, `responseExcerpt` without a body. */
export type AttemptResult = {
  durationMs: number;
  phases: AttemptPhases;
  statusCode: number | null;
  outcome: Outcome;
  retryAfterSeconds: number | null;
  responseExcerpt: string | null;
  remoteAddress: string | null;
};

export type DeliverySender = ReturnType<typeof createDeliverySender>;

/**
 * @param options.agent the guarded dispatcher
 * @param options.tracing provides the header `traceparent` when the delivery is traced
 */
export function createDeliverySender({
  agent,
  tracing = NO_TRACING,
}: {
  agent: Pick<GuardedAgent, 'dispatcher' | 'admittedNetworks'>;
  tracing?: Tracing | undefined;
}) {
  // The verdict is of the URL's text alone. Its addresses are judged when a connection is opened.
  const verdicts = createBoundedCache<UrlVerdict>({ limit: VERDICTS_KEPT });

  const post = async (attempt: Attempt): Promise<AttemptResult> => {
    attempt.signal?.throwIfAborted();
    const startedAt = attempt.now();
    const began = performance.now();
    const trace = newConnectionTrace();
    const verdict = verdicts.get(attempt.url, () => checkReceiverUrl(attempt.url, agent.admittedNetworks));
    const end: Exchange = verdict.ok
      ? await exchange(
          agent.dispatcher,
          requestOf({ attempt, url: verdict.url, now: startedAt, trace, traceparent: tracing.current() }),
          {
            timeoutMs: attempt.timeoutMs ?? DEFAULT_TIMEOUT_MS,
            maxBodyBytes: MAX_RESPONSE_BYTES,
            excerptBytes: MAX_EXCERPT_BYTES,
            signal: attempt.signal,
          },
        )
      : { failure: new EgressError('address', verdict.block ?? verdict.reason), firstByteMs: null };
    return toResult({
      end,
      trace,
      now: attempt.now(),
      totalMs: performance.now() - began,
      isToken: attempt.secrets === null,
    });
  };

  return {
    /**
     * Posts a delivery once. The status code of the answer decides the outcome. The body is read only for the excerpt,
     * up to 64 KiB and until the deadline; a failure of this reading does not change the outcome.
     * @throws the signal's reason when it is aborted, or an error of this service (an invalid header, a closed agent);
     *   every fault of the receiver, its network or its URL is an outcome
     */
    send: (attempt: Attempt): Promise<AttemptResult> => {
      if (!tracing.on) return post(attempt);
      const attributes = { 'http.request.method': 'POST', 'server.address': hostOf(attempt.url) };
      return tracing.span('POST', { kind: 'client', attributes }, async (span) => {
        const result = await post(attempt);
        span.set({ 'http.response.status_code': result.statusCode ?? undefined });
        if (result.outcome.kind !== 'delivered') span.fail(result.outcome.error);
        return result;
      });
    },
  };
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

function requestOf({
  attempt,
  url,
  now,
  trace,
  traceparent,
}: {
  attempt: Attempt;
  url: URL;
  now: number;
  trace: ConnectionTrace;
  traceparent: string | undefined;
}): TracedRequest {
  const { headers, body, secrets } = attempt;
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    method: 'POST',
    headers: {
      // A `traceparent` header that the subscription sets replaces this one.
      ...(traceparent === undefined ? {} : { traceparent }),
      ...headers,
      'User-Agent': USER_AGENT,
      'Accept-Encoding': 'identity',
      ...(secrets === null
        ? TOKEN_HEADERS
        : {
            'Content-Type': attempt.contentType ?? 'application/json',
            ...signedHeaders({
              ...attempt,
              secrets,
              origin: url.origin,
              timestamp: Math.floor(now / 1000),
            }),
          }),
    },
    body,
    // undici's time-outs are disabled, because the attempt has its own deadline.
    headersTimeout: 0,
    bodyTimeout: 0,
    trace,
  };
}

function toResult({
  end,
  trace,
  now,
  totalMs,
  isToken,
}: {
  end: Exchange;
  trace: ConnectionTrace;
  now: number;
  totalMs: number;
  isToken: boolean;
}): AttemptResult {
  const { answer } = end;
  const retryAfterMs = parseRetryAfter(answer?.retryAfter, now);
  return {
    durationMs: Math.round(totalMs),
    phases: {
      dns_ms: tenths(trace.dnsMs),
      connect_ms: tenths(trace.connectMs),
      tls_ms: tenths(trace.tlsMs),
      first_byte_ms: tenths(end.firstByteMs),
      total_ms: tenths(totalMs),
    },
    statusCode: answer?.statusCode ?? null,
    outcome: isToken
      ? refineOutcome(outcomeOf(end, trace, retryAfterMs), answer?.excerpt)
      : outcomeOf(end, trace, retryAfterMs),
    retryAfterSeconds: retryAfterMs === undefined ? null : Math.ceil(retryAfterMs / 1000),
    responseExcerpt: answer === undefined || answer.excerpt.length === 0 ? null : excerptOf(answer.excerpt),
    remoteAddress: trace.remoteAddress,
  };
}

function outcomeOf(
  { answer, failure }: Exchange,
  trace: ConnectionTrace,
  retryAfterMs: number | undefined,
): Outcome {
  if (answer !== undefined) return classifyResponse(answer.statusCode, retryAfterMs);
  if (failure === TIMED_OUT) return classifyTimeout(trace.phase);
  if (failure instanceof EgressError) return classifyFailure(failure.phase, failure.code);
  return classifyFailure('response', answerErrorCode(failure));
}

function tenths(milliseconds: number): number;
function tenths(milliseconds: number | null): number | null;
function tenths(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.round(milliseconds * 10) / 10;
}
