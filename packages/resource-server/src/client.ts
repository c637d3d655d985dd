// Requests of this server to the issuer as one of the tenant's applications: introspection, the feed, tokens of its
// own.
import { isObject } from './claims.ts';
import { fetchWhole } from './whole-answer.ts';

/** The application of this server. */
export type ClientCredentials = { readonly clientId: string; readonly clientSecret: string };

/** Milliseconds after which a request to the issuer has failed. */
export const TIMEOUT_MS = 5_000;

/** Seconds before its end at which a token is not used any more. */
const RENEWAL_SECONDS = 30;

/** An answer of the issuer other than the expected one. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;

  constructor(url: string, status: number) {
    super(`${url} answered ${status}`);
    this.status = status;
  }
}

/** The `Authorization` header of HTTP Basic, both parts form-encoded (RFC 6749 §2.3.1). */
export function basicAuthorization({ clientId, clientSecret }: ClientCredentials): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${btoa(`${encode(clientId)}:${encode(clientSecret)}`)}`;
}

/**
 * Sends a request and reads the JSON object of its answer.
 * @throws UnexpectedAnswer for a status other than 200; an Error when there is no answer, or none in JSON
 */
export async function requestJson(
  fetch: typeof globalThis.fetch,
  url: string,
  init: { method?: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetchWhole(fetch, url, { ...init, redirect: 'error' }, TIMEOUT_MS);
  if (response.status !== 200) throw new UnexpectedAnswer(url, response.status);
  const body: unknown = await response.json();
  if (!isObject(body)) throw new UnexpectedAnswer(url, response.status);
  return body;
}

/** Posts a form with the application's credentials. @throws as `requestJson` */
export function postForm(
  fetch: typeof globalThis.fetch,
  url: string,
  credentials: ClientCredentials,
  form: Record<string, string>,
): Promise<Readonly<Record<string, unknown>>> {
  return requestJson(fetch, url, {
    method: 'POST',
    headers: {
      authorization: basicAuthorization(credentials),
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams(form).toString(),
  });
}

type TokenSourceNeeds = {
  issuer: string;
  credentials: ClientCredentials;
  fetch: typeof globalThis.fetch;
  /** Milliseconds of a clock that nobody sets. */
  elapsed: () => number;
};

/**
 * Gets access tokens by client credentials, and keeps each until shortly before its end.
 * @returns a function that resolves to a token; `forget` drops it, when it was refused
 */
export function createTokenSource({ issuer, credentials, fetch, elapsed }: TokenSourceNeeds) {
  let kept: { token: string; until: number } | undefined;
  let pending: Promise<string> | undefined;

  async function request(): Promise<string> {
    const url = `${issuer}/oauth/token`;
    const answer = await postForm(fetch, url, credentials, { grant_type: 'client_credentials' });
    const { access_token: token, expires_in: seconds } = answer;
    if (typeof token !== 'string' || typeof seconds !== 'number') throw new UnexpectedAnswer(url, 200);
    kept = { token, until: elapsed() + Math.max(seconds - RENEWAL_SECONDS, seconds / 2) * 1000 };
    return token;
  }

  return {
    get: async (): Promise<string> => {
      if (kept !== undefined && elapsed() < kept.until) return kept.token;
      pending ??= request().finally(() => {
        pending = undefined;
      });
      return pending;
    },
    forget: (): void => {
      kept = undefined;
    },
  };
}
