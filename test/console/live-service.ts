// The service as real processes of api and worker, on a port that its tenant's addresses name; a browser, a receiver,
// and a tenant's own program beside it.
import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { expect, onTestFinished } from 'vitest';
import type { Database } from '../../src/platform/database/database.ts';
import { prepareRuns } from '../app/roles/role-runs.ts';
import { makeNamespace } from '../setup/namespace.ts';
import { PATIENCE } from '../setup/patience.ts';
import { takePort } from '../setup/ports.ts';
import { startReceiver } from '../webhooks/receiver/local-receiver.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { launch, noteFaults } from './chromium.ts';

export interface LiveTenant {
  readonly base_url: string;
  readonly client_id: string;
  readonly client_secret: string;
  readonly namespace: string;
  readonly database: Pick<Database, 'query'>;
  /** Runs a command of the command line and reads its JSON. */
  read<T>(args: readonly string[]): Promise<T>;
}

/** Starts it with a tenant; it ends with the test. */
export async function startLiveTenant(): Promise<LiveTenant> {
  const [port, metrics] = [String(await takePort()), String(await takePort())];
  const namespace = await makeNamespace('live');
  const { run, test, close } = await prepareRuns({
    TEMPORAL_NAMESPACE: namespace,
    PORT: port,
    PUBLIC_URL: `http://localhost:${port}`,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    TEMPORAL_UI_URL: 'http://localhost:8233',
  });
  const read = async <T>(args: readonly string[]): Promise<T> => {
    const { exited, output } = run([...args, '--json']);
    if ((await exited) !== 0) throw new Error(`${args.join(' ')}: ${output.stderr}`);
    return JSON.parse(output.stdout);
  };
  const made = await read<Omit<LiveTenant, 'read' | 'namespace' | 'database'>>([
    'tenant',
    'create',
    'walker',
  ]);
  const parts = [run(['api']), run(['worker'], { METRICS_PORT: metrics })];
  // Also when one of them never becomes ready.
  onTestFinished(async () => {
    for (const { child, exited } of parts) {
      child.kill('SIGTERM');
      await exited;
    }
    await close();
  });
  const isReady = async (at: string): Promise<boolean> => {
    for (const { child, output } of parts) if (child.exitCode !== null) throw new Error(output.stderr);
    const answer = await fetch(`http://127.0.0.1:${at}/readyz`).catch(() => undefined);
    return answer?.ok ?? false;
  };
  for (const at of [port, metrics]) await eventually(() => isReady(at), `a process on ${at}`);
  return { ...made, namespace, database: test.database, read };
}

export async function openPage(faults: string[]): Promise<Page> {
  const browser = await launch();
  onTestFinished(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  page.setDefaultTimeout(PATIENCE.timeout);
  noteFaults(page, faults);
  return page;
}

/** A receiver that answers with `status`. */
export async function startFickleReceiver() {
  const state = { status: 200 };
  const { port, close } = await startReceiver((request, response) => {
    request.resume();
    response.writeHead(state.status, state.status === 503 ? { 'retry-after': '900' } : {}).end('an answer');
  });
  onTestFinished(close);
  return { url: `http://127.0.0.1:${port}/hooks`, state };
}

/** The interface as a tenant's own program calls it. */
export async function openInterface({ base_url, client_id, client_secret }: LiveTenant) {
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  const answer = await fetch(`${base_url}/oauth/token`, { method: 'POST', body, headers: { authorization } });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return {
    /** Repeats the request, by its idempotency key, while a busy service answers 503. */
    post: async <T>(path: string, body: object): Promise<T> => {
      const keyed = { ...headers, 'idempotency-key': randomUUID() };
      const request = { method: 'POST', headers: keyed, body: JSON.stringify(body) };
      let made = { status: 503, text: '' };
      const send = async () => {
        const answer = await fetch(base_url + path, request);
        made = { status: answer.status, text: await answer.text() };
        return made.status;
      };
      await expect.poll(send, PATIENCE).not.toBe(503);
      expect(made.status, made.text).toBeLessThan(300);
      return JSON.parse(made.text) as T;
    },
    get: async <T>(path: string): Promise<T> =>
      (await fetch(base_url + path, { headers })).json() as Promise<T>,
  };
}
