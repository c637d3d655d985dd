// A real api and a real worker, and what Prometheus gets from them while they work, and while their database is away.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { buildStack } from '../../app/local/stack.ts';
import { AUDIT_KEY, createTestDatabase } from '../../setup/database.ts';
import { makeNamespace } from '../../setup/namespace.ts';
import { takePort } from '../../setup/ports.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';
import { type Family, parseExposition } from './prometheus-text.ts';
import { listMetrics } from './registries.ts';

const SELDOM = { interval: 200 };

let main: string;
let test: Awaited<ReturnType<typeof createTestDatabase>>;
let proxy: Awaited<ReturnType<typeof createStallingProxy>>;
let credentials: { client_id: string; client_secret: string; tenant_id: string };
let namespace: string;
const children: ChildProcess[] = [];
const ports = { api: 0, apiMetrics: 0, workerMetrics: 0 };
// No retry-after: its endpoint stays open, and the timer alone says when the next attempt begins.
const answers = [500, 204, 204];
const receiver = createServer((request, response) => {
  request.resume();
  response.writeHead(answers.shift() ?? 204).end();
});

function start(args: readonly string[], variables: Record<string, string> = {}): ChildProcess {
  const env = {
    PATH: process.env.PATH ?? '',
    DATABASE_URL: proxy.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: namespace,
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    AUDIT_KEY,
    PUBLIC_URL: 'http://localhost:8080',
    DEFAULT_TENANT: 'demo',
    DATA_DIR: '/dev/null/unused',
    LOG_LEVEL: 'error',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    RATE_LIMIT_CLIENT_FAILURES: '2',
    ...variables,
  };
  const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  return child;
}

async function scrape(port: number): Promise<Map<string, Family>> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parseExposition(await response.text());
}

/** The sum of a metric's samples with these labels; undefined where there is none. */
async function read(
  port: number,
  name: string,
  labels: Record<string, string> = {},
): Promise<number | undefined> {
  const families = await scrape(port);
  const family = families.get(name) ?? families.get(name.replace(/_(count|sum|bucket)$/, ''));
  const found = family?.samples.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return found === undefined || found.length === 0
    ? undefined
    : found.reduce((sum, { value }) => sum + value, 0);
}

const kept = (objective: string, outcome: 'good' | 'bad') =>
  readBoth('countersign_objective_total', { objective, outcome });

/** Reads a counter of attempts, which both an api and a worker make. */
async function readBoth(name: string, labels: Record<string, string> = {}): Promise<number> {
  const values = [ports.apiMetrics, ports.workerMetrics].map((port) => read(port, name, labels));
  return (await Promise.all(values)).reduce<number>((sum, value = 0) => sum + value, 0);
}

const base = () => `http://127.0.0.1:${ports.api}`;

async function askToken(secret: string): Promise<Response> {
  const authorization = `Basic ${Buffer.from(`${credentials.client_id}:${secret}`).toString('base64')}`;
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  return fetch(`${base()}/oauth/token`, { method: 'POST', headers: { authorization }, body });
}

async function post(token: string, path: string, body: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return fetch(`${base()}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

beforeAll(async () => {
  namespace = await makeNamespace('metrics');
  main = join(await buildStack(), 'src/main.js');
  test = await createTestDatabase();
  proxy = await createStallingProxy(test.serviceUrl);
  const made = start(['tenant', 'create', 'demo', '--json']);
  let output = '';
  made.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(made, 'close');
  credentials = JSON.parse(output);
  ports.api = await takePort();
  ports.apiMetrics = await takePort();
  ports.workerMetrics = await takePort();
  start(['api'], { PORT: String(ports.api), METRICS_PORT: String(ports.apiMetrics) });
  start(['worker'], { METRICS_PORT: String(ports.workerMetrics) });
  receiver.listen(0, '127.0.0.1');
});

afterAll(async () => {
  const running = children.filter((child) => child.exitCode === null && child.signalCode === null);
  for (const child of running) child.kill('SIGTERM');
  await Promise.all(running.map((child) => once(child, 'exit')));
  receiver.close();
  await proxy?.close();
  await test?.drop();
});

it('an api and a worker answer on ports of their own', async () => {
  const ready = async (port: number) =>
    (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status;
  for (const port of [ports.api, ports.apiMetrics, ports.workerMetrics])
    await expect.poll(() => ready(port), SELDOM).toBe(200);
  expect((await fetch(`${base()}/metrics`)).status).toBe(404);
});

it('an idle api and worker wake 20 times a second to look at their event loops, not 100 times', async () => {
  // What was not measured yet is said to be centuries.
  for (const port of [ports.apiMetrics, ports.workerMetrics])
    await expect
      .poll(() => read(port, 'nodejs_eventloop_lag_min_seconds'), SELDOM)
      .toSatisfy((seconds: number | undefined) => seconds !== undefined && seconds > 0.04 && seconds < 60);
});

describe('an api', () => {
  it('counts tokens, guesses and requests by route', async () => {
    expect((await askToken(credentials.client_secret)).status).toBe(200);
    for (let guess = 0; guess < 4; guess += 1) await askToken('wrong');
    await fetch(`${base()}/no/such/${credentials.tenant_id}`);
    await fetch(`${base()}/api/v1/agents/${credentials.tenant_id}`, { method: 'PUT' });
    const port = ports.apiMetrics;
    const grant = 'client_credentials';
    const requests = 'countersign_token_requests_total';
    expect(await read(port, requests, { grant, outcome: 'issued' })).toBe(1);
    expect(await read(port, requests, { grant, outcome: 'invalid_client' })).toBe(2);
    expect(await read(port, requests, { grant, outcome: 'rate_limited' })).toBe(2);
    expect(await read(port, 'countersign_rate_limited_total', { limit: 'client-failures' })).toBe(2);
    const count = 'countersign_http_request_duration_seconds_count';
    expect(await read(port, count, { route: '/oauth/token', method: 'POST', status: '2xx' })).toBe(1);
    expect(await read(port, count, { route: '/oauth/token', status: '4xx' })).toBe(4);
    expect(await read(port, count, { route: 'none', status: '4xx' })).toBeGreaterThanOrEqual(1);
    // What was refused is no promise.
    expect([await kept('tokens', 'good'), await kept('tokens', 'bad')]).toEqual([1, 0]);
    expect(await read(port, 'countersign_build_info', { role: 'api' })).toBe(1);
    expect(await read(port, 'countersign_ready')).toBe(1);
  });
});

describe('a worker', () => {
  it('tells of deliveries, attempts, workflows and timers as they are', async () => {
    const { access_token: token } = await (await askToken(credentials.client_secret)).json();
    const { port } = receiver.address() as AddressInfo;
    const subscription = await post(token, '/api/v1/webhooks', {
      url: `http://127.0.0.1:${port}/hook`,
      event_types: ['test.*'],
      retry_policy: { delays_seconds: [1, 1, 1] },
    });
    expect(subscription.status).toBe(201);
    const published = await post(token, '/api/v1/events', { type: 'test.first', data: {} });
    expect(published.status).toBe(202);
    const worker = ports.workerMetrics;
    const delivered = () => readBoth('countersign_deliveries_ended_total', { status: 'delivered' });
    await expect.poll(delivered, SELDOM).toBe(1);
    const again = await post(token, '/api/v1/events', { type: 'test.second', data: {} });
    expect(again.status).toBe(202);
    await expect.poll(delivered, SELDOM).toBe(2);
    const attempts = 'countersign_delivery_attempts_total';
    expect(await readBoth(attempts, { outcome: 'retry', error_class: 'status' })).toBe(1);
    expect(await readBoth(attempts, { outcome: 'delivered', error_class: 'none' })).toBe(2);
    const latency = 'countersign_delivery_latency_seconds';
    expect(await readBoth(`${latency}_count`, { attempt: 'first' })).toBe(1);
    expect(await readBoth(`${latency}_count`, { attempt: 'retried' })).toBe(1);
    expect(await readBoth(`${latency}_sum`, { attempt: 'retried' })).toBeGreaterThanOrEqual(1);
    expect(await read(worker, 'countersign_delivery_timer_lag_seconds_count')).toBe(1);
    expect(await readBoth('countersign_delivery_attempt_phase_seconds_count', { phase: 'total' })).toBe(3);
    const workflow_type = 'webhookDelivery';
    await expect
      .poll(
        () => read(worker, 'countersign_workflows_ended_total', { workflow_type, outcome: 'delivered' }),
        SELDOM,
      )
      .toBe(1);
    // The delivery that its first attempt settled has none.
    expect(await read(worker, 'countersign_workflows_started_total', { workflow_type })).toBe(1);
    expect(await read(worker, 'temporal_workflow_completed_total', { workflow_type })).toBe(1);
    expect(await read(worker, 'temporal_num_pollers', { poller_type: 'workflow_task' })).toBeGreaterThan(0);
    expect(await read(worker, 'countersign_temporal_metrics_up')).toBe(1);
    expect(await read(worker, 'countersign_relays')).toBe(1);
    // An answer of the database is told again for a second.
    await expect.poll(() => read(worker, 'countersign_endpoints'), SELDOM).toBe(1);
    for (const invariant of ['delivery_overdue', 'audit_not_sealed', 'issuer_key_rotation_overdue'])
      expect(await read(worker, 'countersign_invariant_breaches', { invariant }), invariant).toBe(0);
    expect(await read(worker, 'countersign_invariants_unread')).toBe(0);
    expect(await read(ports.apiMetrics, 'countersign_events_published_total', { outcome: 'accepted' })).toBe(
      2,
    );
    expect(await read(ports.apiMetrics, 'countersign_event_deliveries_accepted_total')).toBe(2);
  });
});

describe('objectives', () => {
  it('count acceptances, first attempts at endpoints that work, and revocations that an api reads', async () => {
    expect([await kept('acceptance', 'good'), await kept('acceptance', 'bad')]).toEqual([2, 0]);
    expect([await kept('first_attempts', 'good'), await kept('first_attempts', 'bad')]).toEqual([2, 0]);
    const { access_token: token } = await (await askToken(credentials.client_secret)).json();
    const before = await kept('revocation', 'good');
    const basic = `${credentials.client_id}:${credentials.client_secret}`;
    const revoked = await fetch(`${base()}/oauth/revoke`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(basic).toString('base64')}` },
      body: new URLSearchParams({ token }),
    });
    expect(revoked.status).toBe(200);
    await expect.poll(() => kept('revocation', 'good'), SELDOM).toBe(before + 1);
    expect(await kept('revocation', 'bad')).toBe(0);
  });
});

describe('what they tell', () => {
  it('is what the wiring says, no more and no less, and of the SDK only what its sources say', async () => {
    const known = await listMetrics();
    const typed = (families: Iterable<readonly [string, { type: string }]>, prefix: string) =>
      [...families]
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, { type }]) => `${name} ${type}`)
        .sort();
    const worker = await scrape(ports.workerMetrics);
    expect(typed(await scrape(ports.apiMetrics), 'countersign_')).toEqual(typed(known.api, 'countersign_'));
    expect(typed(worker, 'countersign_')).toEqual(typed(known.worker, 'countersign_'));
    const sdk = typed(worker, 'temporal_');
    expect(sdk.length).toBeGreaterThan(15);
    expect(sdk.filter((name) => !typed(known.sdk, 'temporal_').includes(name))).toEqual([]);
    for (const [name, { samples }] of worker) {
      const labels = known.worker.get(name)?.labels ?? known.sdk.get(name)?.labels ?? [];
      for (const sample of samples)
        if (/^(countersign|temporal)_/.test(name))
          expect(
            Object.keys(sample.labels).filter((label) => label !== 'le' && !labels.includes(label)),
            name,
          ).toEqual([]);
    }
  });

  it('names no tenant, no id, no host and no address', async () => {
    for (const port of [ports.apiMetrics, ports.workerMetrics])
      for (const [name, { samples }] of await scrape(port))
        for (const { labels } of samples)
          for (const [label, value] of Object.entries(labels)) {
            if (label === 'version' || label === 'node' || label === 'le') continue;
            expect(value, `${name}{${label}}`).toMatch(/^[\w:/.*-]*$/);
            expect(value, `${name}{${label}}`).not.toMatch(
              /[0-9a-f]{8}-|\d+\.\d+\.\d+\.\d+|localhost|^demo$/,
            );
          }
  });

  it('goes on while the database is away, without what only it knows', async () => {
    proxy.stall();
    const { apiMetrics, workerMetrics } = ports;
    await expect.poll(() => read(workerMetrics, 'countersign_ready'), SELDOM).toBe(0);
    await expect.poll(() => read(apiMetrics, 'countersign_ready'), SELDOM).toBe(0);
    await expect.poll(() => read(workerMetrics, 'countersign_outbox_rows'), SELDOM).toBeUndefined();
    expect(await readBoth('countersign_deliveries_ended_total')).toBe(2);
    // The path says what it was: without the database the tenant may not be known, and so no route.
    const failed = await kept('tokens', 'bad');
    expect((await askToken(credentials.client_secret)).status).toBe(503);
    expect(await kept('tokens', 'bad')).toBe(failed + 1);
    proxy.resume();
    await expect.poll(() => read(workerMetrics, 'countersign_outbox_rows'), SELDOM).toBe(0);
    await expect.poll(() => read(workerMetrics, 'countersign_ready'), SELDOM).toBe(1);
  });

  it('is written when they stop, and `status` shows it', async () => {
    const counts = {
      tokens: [await kept('tokens', 'good'), await kept('tokens', 'bad')],
      acceptance: [2, 0],
      first_attempts: [2, 0],
      revocation: [await kept('revocation', 'good'), 0],
    };
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    for (const child of running) child.kill('SIGTERM');
    await Promise.all(running.map((child) => once(child, 'exit')));
    const status = start(['status', '--json']);
    let output = '';
    status.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    await once(status, 'close');
    const shown = JSON.parse(output).objectives_of_30_days as {
      objective: string;
      good: number;
      total: number;
    }[];
    expect(
      Object.fromEntries(shown.map(({ objective, good, total }) => [objective, [good, total - good]])),
    ).toEqual(counts);
  });
});
