// Reads the access token of a request from its Authorization header (RFC 6750 §2.1, RFC 9449 §7.1).
import { Refusal, type Scheme } from './refusal.ts';

/** Characters of the longest token: the service issues no longer ones. */
const LONGEST_TOKEN = 8_192;

const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/** A request as the guard sees it, whatever the framework is. */
export type GuardedRequest = {
  readonly method: string;
  /** The target as the client has sent it: path, and query where there is one. */
  readonly target: string;
  /** All values of a header, whose name is in lower case; a header that is sent twice has two. */
  readonly header: (name: string) => readonly string[];
};

/**
 * @returns scheme and token
 * @throws Refusal `invalid_token` without a token or with a malformed one, `invalid_request` for a repeated header
 */
export function readCredentials({ header }: GuardedRequest): { scheme: 'bearer' | 'dpop'; token: string } {
  const [value, ...others] = header('authorization');
  if (others.length > 0) throw new Refusal('invalid_request', 'The Authorization header must be sent once.');
  const scheme = schemeOf(value);
  if (value === undefined || scheme === 'none')
    throw new Refusal('invalid_token', 'An access token is required in the Authorization header.');
  // RFC 9110 §11.4 allows only spaces between scheme and token.
  const token = value.slice(value.indexOf(' ')).replace(/^ +/, '');
  if (token.length > LONGEST_TOKEN || !TOKEN.test(token))
    throw new Refusal('invalid_token', 'The access token is malformed.');
  return { scheme, token };
}

/** @returns the scheme of an Authorization header; `none` without one, and for other schemes */
export function schemeOf(value: string | undefined): Scheme {
  const space = value?.indexOf(' ') ?? -1;
  const name = value?.slice(0, Math.max(space, 0)).toLowerCase();
  return name === 'bearer' || name === 'dpop' ? name : 'none';
}
