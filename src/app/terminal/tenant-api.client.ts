// Calls the HTTP interface for the commands of daily work, as any tenant's program would: it knows no internals.
// docs/decisions/0035-command-line.md

import { randomUUID } from 'node:crypto';
import { fetchWhole } from '../../../packages/agent/src/whole-answer.ts';
import { parseJson } from '../../platform/json-values.ts';
import type { Account } from './account.ts';
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

/** Talks to one tenant. A token is asked for when it is needed, and again before it ends. */
export function createTenantApi(account: Account) {
  let token = { text: '', renewAt: 0 };

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
    if (Date.now() >= token.renewAt) {
      const { access_token: text, expires_in: seconds } = await requestToken();
      token = { text: String(text), renewAt: Date.now() + (Number(seconds) - RENEW_BEFORE) * 1000 };
    }
    return token.text;
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
    call: async (method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Json> =>
      send(
        method,
        path,
        {
          headers: {
            authorization: `Bearer ${await bearer()}`,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...(method === 'POST' ? { 'idempotency-key': randomUUID() } : {}),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        },
        signal,
      ),
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
