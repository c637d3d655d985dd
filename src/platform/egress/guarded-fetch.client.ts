// Fetches one small document of another party through the guarded agent, without redirects, with limits on time and
// bytes.
import type { Dispatcher } from 'undici';
import { newConnectionTrace } from './guarded-agent.client.ts';
import { EgressError } from './guarded-connection.client.ts';
import { type Answer, answerErrorCode, exchange, TIMED_OUT } from './guarded-exchange.client.ts';
import { classifyFailure, classifyTimeout } from './outcome.ts';

/** The reason why no document was fetched. `code` as in attempts: `http:404`, `dns:ENOTFOUND`, `timeout:connect` … */
export type FetchFault = {
  readonly kind: 'timeout' | 'failure' | 'status' | 'encoded' | 'size';
  readonly code: string;
  readonly cause?: unknown;
};

export type Fetched =
  | { readonly body: Buffer; readonly headers: Answer['headers']; readonly fault?: never }
  | { readonly fault: FetchFault };

/**
 * Sends a GET request and checks the answer in this order: status 200, not compressed, size. Its content-type is not
 * judged: what a document is, its reader sees by the content.
 * @param options.deadline milliseconds for the whole fetch, from DNS to the last byte
 * @param options.largest bytes of the body
 * @param options.isFresh true: on a new connection, which is closed afterwards, so that each request resolves the name
 * @throws undici's error for a fault of this service
 */
export async function fetchGuarded(
  dispatcher: Dispatcher,
  { origin, path }: { readonly origin: string; readonly path: string },
  {
    accept,
    userAgent,
    deadline,
    largest,
    isFresh = false,
  }: {
    readonly accept: string;
    readonly userAgent: string;
    readonly deadline: number;
    readonly largest: number;
    readonly isFresh?: boolean;
  },
): Promise<Fetched> {
  const trace = newConnectionTrace();
  const { answer, failure } = await exchange(
    dispatcher,
    {
      origin,
      path,
      method: 'GET',
      headers: { Accept: accept, 'Accept-Encoding': 'identity', 'User-Agent': userAgent },
      headersTimeout: 0,
      bodyTimeout: 0,
      isFresh,
      trace,
    },
    { timeoutMs: deadline, maxBodyBytes: largest + 1, excerptBytes: largest + 1 },
  );
  if (failure === TIMED_OUT) return { fault: { kind: 'timeout', code: classifyTimeout(trace.phase).error } };
  if (failure !== undefined || answer === undefined) {
    const { phase } = failure instanceof EgressError ? failure : trace;
    const { error } = classifyFailure(phase, answerErrorCode(failure));
    return { fault: { kind: 'failure', code: error, cause: failure } };
  }
  const { statusCode, headers, excerpt: body } = answer;
  if (statusCode !== 200) return { fault: { kind: 'status', code: `http:${statusCode}` } };
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding !== 'identity') return { fault: { kind: 'encoded', code: 'encoded' } };
  return body.length > largest ? { fault: { kind: 'size', code: 'too_large' } } : { body, headers };
}
