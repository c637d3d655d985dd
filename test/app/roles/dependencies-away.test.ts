// Roles as processes while a dependency is away, is lost or cannot be written to: each goes on, or waits until it is
// there.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { Connection } from '@temporalio/client';
import { afterAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { RETENTION_WORKFLOW } from '../../../src/platform/temporal/names.ts';
import { ensureNamespace } from '../../../src/platform/temporal/namespace.ts';
import { createCuttingProxy, ENDS } from '../../setup/cutting-proxy.ts';
import { makeNamespace } from '../../setup/namespace.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { takePort } from '../../setup/ports.ts';
import { createStallingProxy } from '../../setup/stalling-proxy.ts';
import { createTcpProxy } from '../../setup/tcp-proxy.ts';
import { startScriptedReceiver } from '../../workflows/scripted-receiver.ts';
import { OTHER_KEY, prepareRuns } from './role-runs.ts';

const runs = await prepareRuns();
const { main, base, test, run } = runs;
afterAll(() => runs.close());

describe('a worker that starts before what it needs', () => {
  const startWorker = (variables: Record<string, string>) => {
    const worker = run(['worker'], { LOG_FORMAT: 'json', ...variables });
    onTestFinished(async () => {
      worker.child.kill('SIGTERM');
      await worker.exited;
    });
    const told = async (event: string) => {
      await expect.poll(() => worker.output.stdout).toContain(`"event":"${event}"`);
      expect([worker.child.exitCode, worker.output.stderr]).toEqual([null, '']);
    };
    return { ...worker, told };
  };

  it('waits for its database, and then registers its relay', async () => {
    const proxy = await createStallingProxy(test.url);
    onTestFinished(proxy.close);
    proxy.stall();
    const { told } = startWorker({ DATABASE_URL: proxy.url });
    await told('start_check.too_early');
    await told('relay.failed');
    await told('worker.ready');
    proxy.resume();
    const countRelays = async () =>
      (
        await test.database.query(
          "SELECT 1 FROM relays WHERE role = 'worker' AND seen_at > now() - interval '2 seconds'",
        )
      ).rowCount;
    await expect.poll(countRelays).toBe(1);
  });

  it('waits for its database, and ends when its key turns out to be another', async () => {
    const proxy = await createStallingProxy(test.url);
    onTestFinished(proxy.close);
    proxy.stall();
    const { told, exited, output } = startWorker({ DATABASE_URL: proxy.url, MASTER_KEY: OTHER_KEY });
    await told('worker.ready');
    proxy.resume();
    expect(await exited).toBe(2);
    expect(output.stdout).toContain('MASTER_KEY: ');
  });

  it('waits for its namespace', async () => {
    const namespace = `late-${randomUUID()}`;
    const { told } = startWorker({ TEMPORAL_NAMESPACE: namespace });
    await told('temporal.unreachable');
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    onTestFinished(() => connection.close());
    await ensureNamespace(connection, { namespace });
    await told('worker.ready');
  });

  it('delivers without Temporal, says what is missing, and takes workflows when Temporal comes', async () => {
    const namespace = await makeNamespace('late-temporal');
    let isAway = true;
    const proxy = await createTcpProxy(`http://${inject('temporalAddress')}`, (client, upstream) => {
      if (isAway) return void client.destroy();
      client.pipe(upstream);
      upstream.pipe(client);
    });
    onTestFinished(proxy.close);
    const receiver = await startScriptedReceiver();
    onTestFinished(receiver.close);
    receiver.answer('/refused', (_request, count) => ({ status: count === 1 ? 500 : 204 }));
    const [port, metrics] = [await takePort(), await takePort()];
    const origin = `http://127.0.0.1:${port}`;
    const settings = {
      TEMPORAL_ADDRESS: new URL(proxy.url).host,
      TEMPORAL_NAMESPACE: namespace,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      LOG_FORMAT: 'json',
    };
    const api = run(['api'], { ...settings, PORT: String(port) });
    onTestFinished(async () => {
      api.child.kill('SIGTERM');
      await api.exited;
    });
    const { told } = startWorker({ ...settings, METRICS_PORT: String(metrics) });
    const readiness = async () => {
      const answer = await fetch(`http://127.0.0.1:${metrics}/readyz`).catch(() => undefined);
      return { status: answer?.status, ...((await answer?.json()) as object) };
    };
    await told('temporal.unreachable');
    const missing = { status: 'not_ready', database: 'ok', temporal: 'unavailable' };
    await expect.poll(readiness).toMatchObject(missing);

    const made = run(['tenant', 'create', 'late', '--json'], settings);
    expect(await made.exited).toBe(0);
    const ask = await signIn(`${origin}/t/late`, JSON.parse(made.output.stdout));
    for (const path of ['taken', 'refused'])
      await ask('webhooks', { url: `${receiver.url}/${path}`, event_types: ['admin.agent.registered'] });
    await ask('agents', { name: 'Robot' });
    const count = () => [receiver.of('/taken').length, receiver.of('/refused').length];
    await expect.poll(count).toEqual([1, 1]);
    // The workflow of the refused delivery cannot be started.
    await told('relay.failed');
    expect(await readiness()).toMatchObject(missing);
    const scraped = await fetch(`http://127.0.0.1:${metrics}/metrics`);
    expect([scraped.status, await scraped.text()]).toEqual([200, expect.stringContaining('countersign_')]);
    expect(count()).toEqual([1, 1]);
    const ofApi = await fetch(`${origin}/readyz`);
    expect([ofApi.status, await ofApi.json()]).toMatchObject([200, { temporal: 'degraded' }]);

    isAway = false;
    await told('worker.ready');
    await expect.poll(readiness).toMatchObject({ status: 'ready', temporal: 'ok' });
    await expect.poll(count).toEqual([1, 2]);
    const connection = await Connection.connect({ address: inject('temporalAddress') });
    onTestFinished(() => connection.close());
    const client = createTemporalClient(connection, { namespace });
    const countEnded = async () => {
      let ended = 0;
      for await (const { type, status } of client.workflow.list())
        if (type === RETENTION_WORKFLOW && status.name === 'COMPLETED') ended += 1;
      return ended;
    };
    await expect.poll(countEnded).toBeGreaterThan(0);
  });
});

/** @returns posts JSON as the application of a tenant, and expects success */
async function signIn(base: string, { client_id, client_secret }: Record<string, string>) {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`;
  await expect
    .poll(async () => (await fetch(`${base}/healthz`).catch(() => undefined)) !== undefined)
    .toBe(true);
  const answer = await fetch(`${base}/oauth/token`, {
    method: 'POST',
    headers: { authorization },
    body: form,
  });
  const { access_token } = (await answer.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' };
  return async (path: string, body: unknown): Promise<void> => {
    const sent = await fetch(`${base}/api/v1/${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    expect([path, sent.status, await sent.text()]).toEqual([path, 201, expect.any(String)]);
  };
}

describe('a role that loses all its connections again and again', () => {
  it.each(['api', 'worker'])('%s goes on', async (role) => {
    const proxy = await createCuttingProxy(test.url);
    onTestFinished(proxy.close);
    const port = await takePort();
    const { child, exited, output } = run([role], {
      DATABASE_URL: proxy.url,
      PORT: String(port),
      LOG_FORMAT: 'json',
    });
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await exited;
    });
    await expect.poll(() => output.stdout).toMatch(/the (API|worker) is ready/);
    for (let loss = 0; loss < 3 * ENDS.length; loss += 1) {
      const isCut = proxy.cutAfter(1 + (loss % 3), ENDS[loss % ENDS.length] ?? 'reset');
      await vi.waitFor(async () => {
        if (role === 'api') await fetch(`http://127.0.0.1:${port}/readyz`);
        expect([
          isCut(),
          child.exitCode,
          output.stderr,
          child.exitCode === null ? '' : output.stdout.slice(-3000),
        ]).toEqual([true, null, '', '']);
      }, PATIENCE);
    }
  });
});

describe('an output that cannot be written', () => {
  it('costs an api its log, and not the process', async () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const port = await takePort();
    const child = spawn(process.execPath, [main, 'api'], {
      env: { ...base, PORT: String(port), LOG_FORMAT: 'json', LOG_LEVEL: 'debug', DATA_DIR: 'unused' },
      stdio: ['ignore', full, full],
    });
    const exited = once(child, 'exit');
    onTestFinished(async () => {
      child.kill('SIGTERM');
      await exited;
    });
    const readiness = async () =>
      (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.status;
    await expect.poll(readiness).toBe(200);
    for (let n = 0; n < 3; n += 1) await fetch(`http://127.0.0.1:${port}/nowhere`);
    expect([await readiness(), child.exitCode]).toEqual([200, null]);
  });

  it('ends a command without a stack', async () => {
    const { child, exited, output } = run(['tenant', 'list']);
    child.stdout.destroy();
    expect([await exited, output.stderr]).toEqual([0, '']);
  });
});
