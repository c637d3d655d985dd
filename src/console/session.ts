// The session of the page: its access token is in memory only, and is renewed ahead of its end.
import type { Problem, Session } from './types.ts';

export type { Session };

/** The path of the tenant, which the service writes into the page. */
export const base = document.documentElement.dataset.base ?? '';

/** Says that this browser has begun a session: without it the page asks for no token, which would be refused. */
const BEGUN = `countersign-console-session ${base}`;

/** How long before its end a token is renewed. */
const AHEAD_MS = 30_000;

let current: { readonly session: Session; readonly renewAt: number } | undefined;
let asking: Promise<Session | undefined> | undefined;
let requests = new AbortController();

/** An answer of the service that is no success. */
export class ApiError extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** @returns the session, with a token that has not ended; undefined when nobody is signed in */
export async function ensureSession(): Promise<Session | undefined> {
  if (current !== undefined && Date.now() < current.renewAt) return current.session;
  asking ??= askToken().finally(() => {
    asking = undefined;
  });
  return asking;
}

/** @returns the name of the tenant that somebody is signed in to; empty when nobody is */
export const tenantName = (): string => current?.session.tenant.name ?? '';

/** Drops the token, so that the next request asks for another one. */
export function forgetToken(): void {
  current = undefined;
}

/** Begins a session by credentials of an application, or by the code of a link. */
export async function signIn(
  credentials: { readonly client_id: string; readonly client_secret: string } | { readonly code: string },
): Promise<Session | undefined> {
  const answer = await fetch(`${base}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(credentials),
  });
  if (!answer.ok) throw await readError(answer);
  localStorage.setItem(BEGUN, 'yes');
  forgetToken();
  return ensureSession();
}

/** @returns what ends a request when the session ends */
export const signalOfSession = (): AbortSignal => requests.signal;

/** Ends the session in the browser and at the service, and before that its requests, which would be refused then. */
export async function signOut(): Promise<void> {
  requests.abort();
  requests = new AbortController();
  forgetToken();
  localStorage.removeItem(BEGUN);
  await fetch(`${base}/console/session`, { method: 'DELETE' });
}

/** Takes the code of a sign-in link out of the address, so that neither history nor a copied address has it. */
export function takeCode(): string | undefined {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code === null) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return code;
}

/** @returns the problem of an answer, also of one that a proxy has written */
export async function readError(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  try {
    const problem: Problem = JSON.parse(text);
    if (typeof problem.detail === 'string') return new ApiError(problem);
  } catch {
    // Not of this service: the status says what can be said.
  }
  return new ApiError({
    status: answer.status,
    error: 'unexpected_answer',
    detail: `The service answered ${answer.status} ${answer.statusText}`.trim(),
    request_id: answer.headers.get('x-request-id') ?? '',
  });
}

async function askToken(): Promise<Session | undefined> {
  if (localStorage.getItem(BEGUN) === null) return undefined;
  const answer = await fetch(`${base}/console/token`, { method: 'POST', signal: requests.signal });
  if (answer.status === 401) {
    localStorage.removeItem(BEGUN);
    current = undefined;
    return undefined;
  }
  if (!answer.ok) throw await readError(answer);
  const session: Session = await answer.json();
  current = { session, renewAt: Date.now() + Math.max(session.expires_in * 1_000 - AHEAD_MS, 5_000) };
  return session;
}
