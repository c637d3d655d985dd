// A small client of the public HTTP interface for the demo. It uses no internal code of the service.
import { randomUUID } from 'node:crypto';

/** The object in `<DATA_DIR>/demo-tenant.json`. */
export type Credentials = {
  tenant_id: string;
  slug: string;
  base_url: string;
  issuer_url: string;
  client_id: string;
  client_secret: string;
};

export type Json = Record<string, unknown>;

class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer';
}

/** Calls the management interface with a token from client credentials (HTTP Basic), which it renews in time. */
export function createApi({
  credentials,
  onWait,
  pause = 1_000,
}: {
  credentials: Credentials;
  onWait: (message: string) => void;
  pause?: number | undefined;
}) {
  let token = { text: '', renewAt: 0 };

  async function bearer(): Promise<string> {
    if (Date.now() < token.renewAt) return token.text;
    const basic = Buffer.from(`${credentials.client_id}:${credentials.client_secret}`).toString('base64');
    const answer = await request(`${credentials.issuer_url}/oauth/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
    });
    token = { text: String(answer.access_token), renewAt: Date.now() + Number(answer.expires_in) * 500 };
    return token.text;
  }

  /** Repeats a request a few times when the service cannot be reached or answers 503, because it may be restarting. */
  const patiently: typeof fetch = async (input, init = {}) => {
    const url = String(input);
    for (let attempt = 1; ; attempt += 1) {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) }).catch(
        (error: unknown) => error,
      );
      const isAnswer = response instanceof Response;
      if (isAnswer && (response.status !== 503 || attempt === 60)) return response;
      if (attempt === 60) throw unreachable(url, response);
      if (attempt === 1)
        onWait(`${init.method} ${new URL(url).pathname}: the service is not there; asking again until it is`);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };

  const request = async (url: string, init: RequestInit): Promise<Json> =>
    readAnswer(url, init, await patiently(url, init));

  return {
    bearer,
    fetch: patiently,
    /** Calls the management interface (`{base_url}`) with the bearer token. A POST can be repeated safely. */
    call: async (method: string, path: string, body?: unknown): Promise<Json> =>
      request(`${credentials.base_url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${await bearer()}`,
          'content-type': 'application/json',
          ...(method === 'POST' ? { 'idempotency-key': randomUUID() } : {}),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}

export type Api = ReturnType<typeof createApi>;

async function readAnswer(url: string, init: RequestInit, response: Response): Promise<Json> {
  if (!response.ok) throw await unexpected(url, init, response);
  const text = await response.text();
  return text === '' ? {} : (JSON.parse(text) as Json);
}

function unreachable(url: string, cause: unknown): Error {
  return new Error(`${new URL(url).origin} does not answer: start the service first, with npm start`, {
    cause,
  });
}

async function unexpected(url: string, init: RequestInit, response: Response): Promise<UnexpectedAnswer> {
  return new UnexpectedAnswer(`${init.method} ${url} → ${response.status} ${await response.text()}`);
}
