// Requests of this server to the issuer as one of the tenant's applications: introspection, the feed, and the access
// token for it.
import { isObject, isText } from './claims.ts';
import { createClientKey, type KeyCredentials } from './client-key.ts';
import { fetchWhole } from './whole-answer.ts';

/** The application of this server: with a secret or, as the profile `fapi2` requires it, with a private key. */
export type ClientCredentials = { readonly clientId: string; readonly clientSecret: string } | KeyCredentials;

/** Milliseconds after which a request to the issuer has failed. */
export const TIMEOUT_MS = 5_000;

/** Seconds before its end at which a token is not used any more. */
const RENEWAL_SECONDS = 30;

/** An answer of the issuer other than the expected one. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
  readonly status: number;

  /** @param body of the answer, whose problem is named */
  constructor(url: string, status: number, body?: unknown) {
    const { error, detail } = isObject(body) ? body : {};
    const problem = [error, detail].filter(isText).join(': ');
    super(`${url} answered ${status} ${problem}`.trimEnd());
    this.status = status;
  }
}

type IssuerClientNeeds = {
  issuer: string;
  credentials: ClientCredentials;
  fetch: typeof globalThis.fetch;
  /** Milliseconds since 1970. */
  now: () => number;
  /** Milliseconds of a clock that nobody sets. */
  elapsed: () => number;
};

/** Makes requests as the application; its access token is kept until shortly before its end. */
export function createIssuerClient({ issuer, credentials, fetch, now, elapsed }: IssuerClientNeeds) {
  const key = 'privateKey' in credentials ? createClientKey(credentials, issuer, now) : undefined;
  const basic = 'privateKey' in credentials ? {} : { authorization: basicAuthorization(credentials) };
  let kept: { token: string; isBound: boolean; until: number } | undefined;
  let pending: ReturnType<typeof requestToken> | undefined;

  /**
   * Posts a form to the issuer. @param isProven whether with a proof, by an application with a key
   * @returns the JSON object of the answer
   * @throws UnexpectedAnswer for a status other than 200, and for no JSON object; an Error when there is no answer
   */
  async function post(
    path: string,
    form: Record<string, string>,
    isProven = false,
  ): Promise<Readonly<Record<string, unknown>>> {
    const send: typeof globalThis.fetch = async (input, init) => {
      const dpop = isProven && key !== undefined ? { dpop: await key.prove('POST', String(input)) } : {};
      const body = new URLSearchParams({ ...form, ...(await key?.assert()) }).toString();
      const headers = { 'content-type': 'application/x-www-form-urlencoded', ...basic, ...dpop };
      return fetch(input, { ...init, method: 'POST', redirect: 'error', headers, body });
    };
    const url = issuer + path;
    const answer = await fetchWhole(key?.repeat(send) ?? send, url, {}, TIMEOUT_MS);
    const body: unknown = await answer.json().catch(() => undefined);
    if (answer.status !== 200 || !isObject(body)) throw new UnexpectedAnswer(url, answer.status, body);
    return body;
  }

  async function requestToken(): Promise<{ token: string; isBound: boolean }> {
    const path = '/oauth/token';
    const answer = await post(path, { grant_type: 'client_credentials' }, true);
    const { access_token: token, expires_in: seconds, token_type: type } = answer;
    if (!isText(token) || typeof seconds !== 'number') throw new UnexpectedAnswer(issuer + path, 200);
    const until = elapsed() + Math.max(seconds - RENEWAL_SECONDS, seconds / 2) * 1000;
    kept = { token, isBound: String(type).toLowerCase() === 'dpop', until };
    return kept;
  }

  async function getToken(): Promise<{ token: string; isBound: boolean }> {
    if (kept !== undefined && elapsed() < kept.until) return kept;
    pending ??= requestToken().finally(() => {
      pending = undefined;
    });
    return pending;
  }

  return {
    post,

    /** @returns `fetch` for GET with the access token, and with a proof where that is bound to a key */
    authorize: async (): Promise<typeof globalThis.fetch> => {
      const { token, isBound } = await getToken();
      const prover = isBound ? key : undefined;
      const send: typeof globalThis.fetch = async (input, init) => {
        const headers = new Headers(init?.headers);
        headers.set('authorization', `${prover === undefined ? 'Bearer' : 'DPoP'} ${token}`);
        if (prover !== undefined) headers.set('dpop', await prover.prove('GET', String(input), token));
        return fetch(input, { ...init, headers });
      };
      return prover?.repeat(send) ?? send;
    },

    /** Drops the access token, when it was refused. */
    forget: (): void => {
      kept = undefined;
    },
  };
}

/** The `Authorization` header of HTTP Basic, both parts form-encoded (RFC 6749 §2.3.1). */
function basicAuthorization({ clientId, clientSecret }: { clientId: string; clientSecret: string }): string {
  const encode = (text: string) => new URLSearchParams({ '': text }).toString().slice(1);
  return `Basic ${btoa(`${encode(clientId)}:${encode(clientSecret)}`)}`;
}
