// Requests to the two apis, as clients send them. An answer of 5xx, or none, leaves open whether the work was done.
import { setTimeout as sleep } from 'node:timers/promises';
import { now } from './ledger.mjs';

const PATIENCE = 20_000;

/** @param random chooses the api of each request */
export function createClient({ stack, ledger, random }) {
  const { client_id, client_secret } = stack.tenant;
  const basic = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  let bearer = '';

  /**
   * @param {string} method
   * @param {string} path
   * @param {{ json?: object, form?: Record<string, string>, headers?: object, as?: string, api?: any }} [options]
   * @returns status (0: none), body, headers, and when it was sent and answered; `isKnown`: the outcome is definite
   */
  const ask = async (
    method,
    path,
    { json, form, headers = {}, as = bearer, api = random.pick(stack.apis) } = {},
  ) => {
    const sent = now();
    const finish = (status, body, got) => {
      const answered = now();
      ledger.count(status);
      // Without room Postgres fails here as it does not on a full disk, with a code that the service cannot know.
      const isFull = ledger.faults.some(
        ({ kind, from, to = answered }) => kind === 'disk-full' && sent <= to + 1_000 && answered >= from,
      );
      if (status === 500 && !isFull)
        ledger.violate('answered 500', `${method} ${path} ${JSON.stringify(body)}`);
      return { status, body, headers: got, sent, answered, isKnown: status > 0 && status < 500, api };
    };
    try {
      const response = await fetch(api.origin + path, {
        method,
        headers: {
          ...(as === '' ? {} : { authorization: as }),
          ...(json === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
        ...(form === undefined ? {} : { body: new URLSearchParams(form) }),
        signal: AbortSignal.timeout(PATIENCE),
      });
      const text = await response.text();
      return finish(response.status, text === '' ? undefined : JSON.parse(text), response.headers);
    } catch {
      return finish(0, undefined, new Headers());
    }
  };

  /** Repeats a request that is safe to repeat until its outcome is known, as long as `goesOn` says so. */
  const persist = async (method, path, options, goesOn = () => true) => {
    for (;;) {
      const answer = await ask(method, path, options);
      // The first of two equal requests still runs, where the answer of that one got lost.
      const isUnderWay = answer.body?.error === 'idempotency_in_progress';
      if ((answer.isKnown && !isUnderWay) || !goesOn()) return answer;
      await sleep(300);
    }
  };

  /** A token by client credentials. */
  const authorize = async () => {
    const answer = await ask('POST', '/oauth/token', {
      as: basic,
      form: { grant_type: 'client_credentials' },
    });
    if (answer.status === 200) noteToken(answer.body.access_token);
    return answer;
  };

  const noteToken = (token) => {
    const [, claims = ''] = token.split('.');
    ledger.tokens.set(JSON.parse(Buffer.from(claims, 'base64url').toString()).jti, now());
  };

  /** An answered change must be in the audit log under its request id. */
  const noteChange = (what, answer) => {
    if (answer.status >= 200 && answer.status < 300)
      ledger.changes.set(answer.headers.get('x-request-id'), { what, at: answer.answered });
    return answer;
  };

  return {
    ask,
    basic,
    persist,
    authorize,
    noteToken,
    noteChange,
    open: async () => {
      for (;;) {
        const answer = await authorize();
        if (answer.status === 200) {
          bearer = `Bearer ${answer.body.access_token}`;
          return;
        }
        await sleep(300);
      }
    },
  };
}
