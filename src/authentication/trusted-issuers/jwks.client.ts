// Fetches the JWK set of another issuer through the guarded agent.
import type { GuardedAgent } from '../../platform/egress/guarded-agent.client.ts';
import { type FetchFault, fetchGuarded } from '../../platform/egress/guarded-fetch.client.ts';
import { checkReceiverUrl } from '../../platform/egress/url-rules.ts';
import { readJwkSet, type TrustedJwk } from './jwk-set.ts';
import { freshnessOf } from './jwks-lifetime.ts';

/** Longest fetch in milliseconds, from the DNS query to the last byte. */
const DEADLINE = 5_000;

/** Greatest size of a set in bytes. */
const LARGEST = 64 * 1024;

const FAULTS: Readonly<Record<FetchFault['kind'], string>> = {
  timeout: 'no complete answer in time',
  failure: 'no answer',
  status: 'the answer has another status than 200',
  encoded: 'the answer is compressed although the request does not allow it',
  size: `the answer is larger than ${LARGEST} bytes`,
};

/** `freshness` is in milliseconds. */
export type FetchedKeys = { readonly keys: readonly TrustedJwk[]; readonly freshness: number };

export type JwksFetcher = (uri: string) => Promise<FetchedKeys>;

/** A failed fetch. The tenant may read the message; the cause, which may contain addresses, is for the log. */
export class JwksError extends Error {
  override readonly name = 'JwksError';
}

/**
 * Creates the function that fetches a set (format: RFC 7517 §5).
 * @param agent the guarded dispatcher, which checks the address of the connection
 * @param deadline milliseconds for one fetch
 * @returns a function that rejects with {@link JwksError} unless the answer has status 200 and a JWK set of at most 64
 * KiB in UTF-8; its content-type does not matter, since object stores serve key sets as bytes
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
    const fetched = await fetchGuarded(
      agent.dispatcher,
      { origin, path: pathname + search },
      {
        accept: 'application/jwk-set+json, application/json',
        userAgent: 'Countersign/1',
        deadline,
        largest: LARGEST,
      },
    );
    if (fetched.fault !== undefined) {
      const { kind, code, cause } = fetched.fault;
      throw new JwksError(`${FAULTS[kind]} (${code})`, { cause });
    }
    const keys = readJwkSet(parse(fetched.body));
    if (keys === undefined) throw new JwksError('the answer is not a JWK set');
    return { keys, freshness: freshnessOf(fetched.headers) };
  };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (error) {
    throw new JwksError('the answer is not JSON in UTF-8', { cause: error });
  }
}
