// One api and one worker as real processes that log everything and trace everything, with all that they write.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { inject } from 'vitest';
import { buildStack } from '../app/local/stack.ts';
import { startCollector } from '../platform/tracing/collector.ts';
import { AUDIT_KEY, createTestDatabase } from '../setup/database.ts';
import { makeNamespace } from '../setup/namespace.ts';
import { takePort } from '../setup/ports.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import type { Secrets } from './secrets.ts';

export const PUBLIC_URL = 'http://localhost:8080';

const LIMITS = ['ADDRESS', 'TENANT', 'FINGERPRINT_FAILURES', 'CLIENT_FAILURES', 'PUBLISH'];

export type Processes = Awaited<ReturnType<typeof startProcesses>>;

/** @param variables settings of both processes beside the usual ones */
export async function startProcesses(secrets: Secrets, variables: Readonly<Record<string, string>> = {}) {
  const main = join(await buildStack(), 'src/main.js');
  const { database, url, drop } = await createTestDatabase();
  const namespace = await makeNamespace('redaction');
  const collector = await startCollector();
  const [port, apiMetrics, workerMetrics] = [await takePort(), await takePort(), await takePort()];
  secrets.add('database password', decodeURIComponent(new URL(url).password));
  const environment = {
    PATH: process.env.PATH ?? '',
    DATABASE_URL: url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: namespace,
    AUDIT_KEY,
    MASTER_KEY: secrets.add('master key', Buffer.from(randomUUID().slice(0, 32)).toString('base64')),
    PUBLIC_URL,
    DEFAULT_TENANT: 'demo',
    DATA_DIR: '/dev/null/unused',
    LOG_LEVEL: 'trace',
    LOG_FORMAT: 'json',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_TRACES_SAMPLER: 'always_on',
    // A refusal by a limit would hide the one behind it.
    ...Object.fromEntries(LIMITS.map((name) => [`RATE_LIMIT_${name}`, '0'])),
    ...variables,
  };
  let output = '';
  const start = (args: readonly string[], variables: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...environment, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const texts = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr'] as const)
      child[name].setEncoding('utf8').on('data', (text: string) => {
        texts[name] += text;
      });
    const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...texts }));
    return { child, texts, ended };
  };
  /** Runs a command. What it prints is for the operator, what it reports is a log. */
  const command = async (args: readonly string[], variables: Record<string, string> = {}) => {
    const { ended } = start(args, variables);
    const result = await ended;
    output += result.stderr;
    return result;
  };
  const created = await command(['tenant', 'create', 'demo', '--json']);
  if (created.code !== 0) throw new Error(created.stderr);
  const tenant = JSON.parse(created.stdout) as Record<'tenant_id' | 'client_id' | 'client_secret', string>;
  secrets.add('client secret', tenant.client_secret);

  const running = [
    start(['api'], { PORT: String(port), METRICS_PORT: String(apiMetrics) }),
    start(['worker'], { METRICS_PORT: String(workerMetrics) }),
  ];
  const ready = (address: string) =>
    eventually(
      () =>
        fetch(address).then(
          ({ ok }) => ok,
          () => false,
        ),
      address,
    );
  await ready(`http://127.0.0.1:${port}/readyz`);
  await ready(`http://127.0.0.1:${workerMetrics}/readyz`);
  const text = (address: string) => fetch(address).then((answer) => answer.text());
  return {
    tenant,
    database,
    namespace,
    command,
    port,
    origin: `http://127.0.0.1:${port}`,
    metrics: async () =>
      (await text(`http://127.0.0.1:${apiMetrics}/metrics`)) +
      (await text(`http://127.0.0.1:${workerMetrics}/metrics`)),
    /** Ends both processes, which send what they have recorded. */
    stop: async () => {
      for (const { child } of running) child.kill('SIGTERM');
      await Promise.all(running.map(({ ended }) => ended));
    },
    logs: () => output + running.map(({ texts }) => texts.stdout + texts.stderr).join(''),
    traces: () => collector.bodies.join('\n') + JSON.stringify(collector.headers),
    close: async () => {
      await collector.close();
      await drop();
    },
  };
}
