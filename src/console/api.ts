// Calls of the management API with the session's token.
import { ApiError, base, ensureSession, forgetToken, readError } from './session.ts';

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

/** Reads. */
export async function get<T>(path: string, query?: Query): Promise<T> {
  const answer = await call('GET', addressOf(path, query));
  return answer.json();
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

async function call(method: string, address: string, body?: object, again = true): Promise<Response> {
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
    headers: {
      authorization: `Bearer ${session.access_token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (answer.status === 401 && again) {
    forgetToken();
    return call(method, address, body, false);
  }
  if (!answer.ok) throw await readError(answer);
  return answer;
}
