// Calls the HTTP interface for the commands of daily work, as any tenant's program would: it knows no internals.
// docs/decisions/0035-command-line.md

import { randomUUID } from 'node:crypto';
import { fetchWhole } from '../../../packages/agent/src/whole-answer.ts';
import { parseJson } from '../../platform/json-values.ts';
import type { Account } from './account.ts';
import type { KeptToken, TokenKeeper } from './kept-token.ts';
import { CommandFailure, faultOf } from './runtime.ts';

export type Json = Readonly<Record<string, unknown>>;

/** An answer that is no success. `error` is the code to act on. */
export class RefusedCall extends CommandFailure {
  readonly status: number;
  readonly error: string;

  constructor(status: number, error: string, message: string) {
    super(message);
    this.status = status;
    this.error = error;
  }
}

/** Seconds before its end at which a token is asked for anew. */
const RENEW_BEFORE = 30;
/** Milliseconds for one answer. */
const PATIENCE = 30_000;

/** Talks to one tenant. A token is asked for when no command before has left one, and again before it ends. */
export function createTenantApi(account: Account, keeper: TokenKeeper) {
  let token: KeptToken | undefined;
  /** Whether this command has asked for the token. */
  let isOwn = false;

  /** @throws RefusedCall when the credentials or the scope are refused */
  async function requestToken(scope?: string): Promise<Json> {
    const basic = Buffer.from(`${account.clientId}:${account.clientSecret}`).toString('base64');
    const body = new URLSearchParams({ grant_type: 'client_credentials' });
    if (scope !== undefined) body.set('scope', scope);
    return send('POST', '/oauth/token', {
      headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: body.toString(),
    });
  }

  async function bearer(): Promise<string> {
    token ??= await keeper.read();
    if (token === undefined || Date.now() >= token.renewAt) {
      const { access_token: text, expires_in: seconds } = await requestToken();
      token = { text: String(text), renewAt: Date.now() + (Number(seconds) - RENEW_BEFORE) * 1000 };
      isOwn = true;
      await keeper.keep(token);
    }
    return token.text;
  }

  /** The token of an earlier command may have been ended, or lack a scope that was granted since: then a new one. */
  async function authorized(call: (bearer: string) => Promise<Json>): Promise<Json> {
    const text = await bearer();
    try {
      return await call(text);
    } catch (error) {
      if (isOwn || !(error instanceof RefusedCall) || (error.status !== 401 && error.status !== 403))
        throw error;
      token = { text: '', renewAt: 0 };
      return call(await bearer());
    }
  }

  async function send(
    method: string,
    path: string,
    init: { headers: Record<string, string>; body?: string },
    signal: AbortSignal | undefined = undefined,
  ): Promise<Json> {
    const url = `${account.baseUrl}${path}`;
    const request = { method, ...init, ...(signal === undefined ? {} : { signal }) };
    const response = await fetchWhole(fetch, url, request, PATIENCE).catch((error: Error) => {
      throw new CommandFailure(
        `${account.baseUrl} does not answer (${faultOf(error)}); from ${account.source}.`,
      );
    });
    const text = await response.text();
    if (!response.ok) throw describeRefusal(method, path, response.status, text);
    return text === '' ? {} : (JSON.parse(text) as Json);
  }

  return {
    account,
    requestToken,
    /**
     * @param path below the tenant's address
     * @param signal ends the call
     * @throws RefusedCall with the problem's words
     */
    call: async (method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Json> => {
      const headers = {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(method === 'POST' ? { 'idempotency-key': randomUUID() } : {}),
      };
      const rest = body === undefined ? {} : { body: JSON.stringify(body) };
      return authorized((text) =>
        send(method, path, { headers: { ...headers, authorization: `Bearer ${text}` }, ...rest }, signal),
      );
    },
  };
}

export type TenantApi = ReturnType<typeof createTenantApi>;

/** `?a=1&b=2`; fields that are undefined are left out. */
export function queryOf(fields: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, value);
  return query.size === 0 ? '' : `?${query}`;
}

function describeRefusal(method: string, path: string, status: number, text: string): RefusedCall {
  // Without JSON, something before the service has answered.
  const problem = (parseJson(text) ?? {}) as Json;
  const { error = `http_${status}`, detail, error_description: description, request_id: id } = problem;
  const words = detail ?? description ?? `${method} ${path} was answered with ${status}`;
  const more = typeof id === 'string' ? `, request ${id}` : '';
  return new RefusedCall(status, String(error), `${words} (${status} ${error}${more})`);
}
