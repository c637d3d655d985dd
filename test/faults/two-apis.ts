// Real `countersign api` processes over one database, and the HTTP requests of tenants and agents to them.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject } from 'vitest';
import { buildPayloadOfResponse, type ChallengeResponse } from '../../packages/agent/src/payloads.ts';
import { encodeBase64 } from '../../src/platform/crypto/base64.ts';
import { fingerprint } from '../../src/platform/crypto/public-key.ts';
import { buildStack } from '../app/local/stack.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../platform/crypto/sign.ts';
import { createTestDatabase } from '../setup/database.ts';
import { takePort } from '../setup/ports.ts';

/** The address that the tenant's tokens and proofs name, whichever process is asked. */
export const BASE_URL = 'http://localhost:8080';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed body. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came
  readonly body: any;
};

export type Api = Awaited<ReturnType<typeof startApi>>;

/**
 * Creates a database with the tenant `demo` and starts one process for each connection string that `place` gives.
 * @param place where each process finds the database @param variables settings of all of them
 */
export async function startApis(
  place: (url: string) => Promise<readonly string[]> | readonly string[],
  variables: Readonly<Record<string, string>> = {},
) {
  const main = join(await buildStack(), 'src/main.js');
  const { database, serviceUrl: url, drop } = await createTestDatabase();
  const environment = {
    PATH: process.env.PATH ?? '',
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: inject('temporalNamespace'),
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    PUBLIC_URL: BASE_URL,
    DEFAULT_TENANT: 'demo',
    DATA_DIR: '/dev/null/unused',
    LOG_LEVEL: 'warn',
    METRICS_PORT: '0',
    ...variables,
  };
  const created = JSON.parse(
    await output(main, ['tenant', 'create', 'demo', '--json'], { ...environment, DATABASE_URL: url }),
  );
  const apis = await Promise.all(
    (await place(url)).map((DATABASE_URL) => startApi(main, { ...environment, DATABASE_URL })),
  );
  const close = async () => {
    await Promise.all(apis.map((api) => api.close()));
    await drop();
  };
  const authorization = `Basic ${Buffer.from(`${created.client_id}:${created.client_secret}`).toString('base64')}`;
  const { tenant_id: tenantId, client_id: clientId } = created as Record<string, string>;
  /** Runs a command of `countersign` in a process of its own. @returns what it printed */
  const run = (...args: string[]) => output(main, args, { ...environment, DATABASE_URL: url });
  return { apis, database, url, tenantId, clientId, authorization, run, close };
}

async function output(main: string, args: readonly string[], env: Record<string, string>): Promise<string> {
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`countersign ${args.join(' ')} ended with ${code}`);
  return text;
}

async function startApi(main: string, environment: Record<string, string>) {
  const port = await takePort();
  const child = spawn(process.execPath, [main, 'api'], {
    env: { ...environment, PORT: String(port) },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const exited = once(child, 'exit');
  const origin = `http://127.0.0.1:${port}`;

  const send = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const response = await fetch(origin + path, init);
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  };
  const api = {
    origin,
    pid: child.pid,
    /** GET with an access token. */
    get: (path: string, token: string, headers: Record<string, string> = {}) =>
      send(path, { headers: { authorization: `Bearer ${token}`, ...headers } }),
    /** Sends JSON. */
    json: (method: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
      send(path, {
        method,
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      }),
    /** Posts a form. */
    form: (path: string, parameters: Record<string, string>, headers: Record<string, string> = {}) =>
      send(path, { method: 'POST', headers, body: new URLSearchParams(parameters) }),
    close: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
  for (;;) {
    if (child.exitCode !== null) throw new Error(`an api ended with ${child.exitCode}`);
    if ((await send('/readyz').catch(() => undefined))?.status === 200) return api;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** An access token of the tenant's first application. */
export async function accessToken(api: Api, authorization: string): Promise<string> {
  const form = { grant_type: 'client_credentials' };
  const { status, body } = await persist(() => api.form('/oauth/token', form, { authorization }));
  if (status !== 200) throw new Error(`a token was refused with ${status} ${body?.error}`);
  return body.access_token;
}

/** Registers an agent with a key. @returns its id, and functions that ask for a challenge and answer it */
export async function registerAgent(api: Api, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const privateKey = generatePrivateKey('ed25519');
  const publicKey = derivePublicKey('ed25519', privateKey).raw;
  const made = await api.json('POST', '/api/v1/agents', { name: 'Robot' }, headers);
  const path = `/api/v1/agents/${made.body.id}`;
  const key = { algorithm: 'ed25519', public_key: encodeBase64(publicKey) };
  const registered = await api.json('POST', `${path}/keys`, key, headers);
  if (registered.status !== 201) throw new Error(`registering a key gave ${registered.status}`);

  const challenge = async (from: Api = api): Promise<ChallengeResponse & { challenge_id: string }> => {
    const asked = { key_fingerprint: fingerprint(publicKey), scope: 'openid email' };
    return (await from.json('POST', '/auth/agent/challenge', asked)).body;
  };
  const sign = (given: ChallengeResponse & { challenge_id: string }, by = privateKey) => ({
    challenge_id: given.challenge_id,
    signature: signPayload('ed25519', by, buildPayloadOfResponse(given)),
    algorithm: 'ed25519',
  });
  const logIn = async (from: Api = api): Promise<{ access_token: string; refresh_token: string }> => {
    const { status, body } = await from.json('POST', '/auth/agent/verify', sign(await challenge(from)));
    if (status !== 200) throw new Error(`authenticating gave ${status}`);
    return body;
  };
  return {
    id: made.body.id as string,
    keyId: registered.body.key_id as string,
    path,
    challenge,
    sign,
    logIn,
  };
}

/**
 * Sends a request again that is refused because the database is too busy just now, as its `Retry-After` asks: on a
 * slow machine this can be any request.
 */
export async function persist(request: () => Promise<Answer>): Promise<Answer> {
  const answer = await request();
  if (answer.status !== 503) return answer;
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  return persist(request);
}

/** Sends a hundred simultaneous requests, in turn to each process. */
export function race(apis: readonly Api[], request: (api: Api) => Promise<Answer>): Promise<Answer[]> {
  return Promise.all(
    Array.from({ length: 100 }, (_, index) => persist(() => request(apis[index % apis.length] as Api))),
  );
}

/** How many answers were of each kind: the status, and the code of an error. */
export function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const kind = body?.error === undefined ? String(status) : `${status} ${body.error}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
