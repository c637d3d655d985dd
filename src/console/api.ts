// Calls of the management API with the session's token.
import { ApiError, base, ensureSession, forgetToken, readError, signalOfSession } from './session.ts';

export { ApiError };

type Query = Readonly<Record<string, string | number | undefined>>;

/** What the page does when the session has ended: the shell sets it. */
let onSignedOut: () => void = () => undefined;

/** Sets what is done when a call finds that the session has ended. */
export function whenSignedOut(action: () => void): void {
  onSignedOut = action;
}

/** @returns the address of an API path, with the fields of the query that have a value */
export function addressOf(path: string, query: Query = {}): string {
  const fields = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, String(value)]));
  return `${base}/api/v1/${path}${fields.length > 0 ? `?${search}` : ''}`;
}

/** Answers of which the service is asked whether they are still the same. */
const known = new Map<string, { readonly tag: string; readonly body: unknown }>();
const MOST_KNOWN = 40;

/** Reads. @returns the same object as before while the answer is the same */
export async function get<T>(path: string, query?: Query): Promise<T> {
  const address = addressOf(path, query);
  const before = known.get(address);
  const answer = await call('GET', address, undefined, { 'if-none-match': before?.tag ?? '"none"' });
  if (answer.status === 304 && before !== undefined) return before.body as T;
  const body: T = await answer.json();
  const tag = answer.headers.get('etag');
  known.delete(address);
  if (tag !== null) known.set(address, { tag, body });
  const [oldest] = known.keys();
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  return body;
}

/** Changes something; the answer's `Link` is for the receipt of a suspension. */
export async function send<T>(
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: object,
): Promise<{ readonly body: T; readonly link: string | null }> {
  const answer = await call(method, addressOf(path), body);
  const text = await answer.text();
  return { body: text === '' ? undefined : JSON.parse(text), link: answer.headers.get('link') };
}

async function call(
  method: string,
  address: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
  again = true,
): Promise<Response> {
  const session = await ensureSession();
  if (session === undefined) {
    onSignedOut();
    throw new ApiError({
      status: 401,
      error: 'invalid_token',
      detail: 'You are signed out.',
      request_id: '',
    });
  }
  const answer = await fetch(address, {
    method,
    signal: signalOfSession(),
    headers: {
      ...headers,
      authorization: `Bearer ${session.access_token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (answer.status === 401 && again) {
    forgetToken();
    return call(method, address, body, headers, false);
  }
  if (!answer.ok && answer.status !== 304) throw await readError(answer);
  return answer;
}

/** Whether the same request may succeed later: the service was not reached, or is busy. */
export function passes(error: unknown): boolean {
  return !(error instanceof ApiError) || error.problem.status === 429 || error.problem.status >= 500;
}
