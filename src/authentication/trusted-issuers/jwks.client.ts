// Fetches the JWK set of another issuer. It must never connect but through the guarded agent, follow a redirect, or read without bounds.
import { type GuardedAgent, newConnectionTrace } from '../../platform/egress/guarded-agent.client.ts';
import { errorCode } from '../../platform/egress/guarded-connection.client.ts';
import { type Answer, exchange, TIMED_OUT } from '../../platform/egress/guarded-exchange.client.ts';
import { checkReceiverUrl } from '../../platform/egress/url-rules.ts';
import { readJwkSet, type TrustedJwk } from './jwk-set.ts';
import { freshnessOf, isJson } from './jwks-lifetime.ts';

/** The time for all of it, from DNS to the last byte, in milliseconds. */
const DEADLINE = 5_000;

/** Bytes of the largest set. */
const LARGEST = 64 * 1024;

/** `freshness` is in milliseconds. */
export type FetchedKeys = { readonly keys: readonly TrustedJwk[]; readonly freshness: number };

export type JwksFetcher = (uri: string) => Promise<FetchedKeys>;

/** There is no key set. The message is for the log: it may name addresses. */
export class JwksError extends Error {
  override readonly name = 'JwksError';
}

/**
 * Makes the fetcher (RFC 7517 §5 for the format).
 * @param agent the guarded dispatcher: it judges the address that is really connected to
 * @param deadline milliseconds, for one fetch
 * @returns a function that rejects with {@link JwksError} for anything but 200, a JSON content type, and a JWK set of at most 64 KiB
 */
export function createJwksFetcher({
  agent,
  deadline = DEADLINE,
}: {
  agent: Pick<GuardedAgent, 'dispatcher' | 'admittedNetworks'>;
  deadline?: number | undefined;
}): JwksFetcher {
  return async (uri) => {
    const verdict = checkReceiverUrl(uri, agent.admittedNetworks);
    if (!verdict.ok) throw new JwksError(`the address ${verdict.message}`);
    const { origin, pathname, search } = verdict.url;
    const { answer, failure } = await exchange(
      agent.dispatcher,
      {
        origin,
        path: pathname + search,
        method: 'GET',
        headers: {
          Accept: 'application/jwk-set+json, application/json',
          'Accept-Encoding': 'identity',
          'User-Agent': 'Countersign/1',
        },
        headersTimeout: 0,
        bodyTimeout: 0,
        trace: newConnectionTrace(),
      },
      { timeoutMs: deadline, maxBodyBytes: LARGEST + 1, excerptBytes: LARGEST + 1 },
    );
    if (failure === TIMED_OUT) throw new JwksError('no complete answer in time');
    if (failure !== undefined || answer === undefined)
      throw new JwksError(`no answer: ${errorCode(failure)}`, { cause: failure });
    return readAnswer(answer);
  };
}

function readAnswer({ statusCode, headers, excerpt: body }: Answer): FetchedKeys {
  if (statusCode !== 200) throw new JwksError(`answered with ${statusCode}`);
  if (!isJson(headers['content-type'])) throw new JwksError('the answer is not JSON by its content-type');
  if (body.length > LARGEST) throw new JwksError(`the answer is larger than ${LARGEST} bytes`);
  const keys = readJwkSet(parse(body));
  if (keys === undefined) throw new JwksError('the answer is not a JWK set');
  return { keys, freshness: freshnessOf(headers) };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw new JwksError('the answer is not JSON in UTF-8', { cause: error });
  }
}
