// `countersign doctor` as an operator runs it: the real command against a real database and namespace, without and with
// a worker.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { buildStack } from '../../app/local/stack.ts';
import { AUDIT_KEY, createTestDatabase } from '../../setup/database.ts';
import { takePort } from '../../setup/ports.ts';
import { eventually } from '../../workflows/delivery-engine.ts';

type Report = {
  well: boolean;
  checks: { check: string; looked: number; found: number; mended: number; failure: string | null }[];
  findings: { code: string; subject: string; outcome: string }[];
};

let main: string;
let test: Awaited<ReturnType<typeof createTestDatabase>>;
let env: Record<string, string>;

beforeAll(async () => {
  main = join(await buildStack(), 'src/main.js');
  test = await createTestDatabase();
  env = {
    PATH: process.env.PATH ?? '',
    // Nothing is kept there: the master key is given.
    DATA_DIR: 'unused',
    DATABASE_URL: test.serviceUrl,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: `doctor-${randomUUID()}`,
    METRICS_PORT: '0',
    PUBLIC_URL: 'http://localhost:8080',
    MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    AUDIT_KEY,
  };
});
afterAll(async () => {
  await test?.drop();
});

function start(args: readonly string[], variables: Record<string, string> = {}) {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  return { child, output, exited: once(child, 'close').then(([code]) => code as number | null) };
}

async function examine(...options: string[]): Promise<{ code: number | null; report: Report }> {
  const { exited, output } = start(['doctor', '--json', ...options]);
  const code = await exited;
  // On a slow machine it says how far it is.
  expect(output.stderr).toMatch(/^(\w+: \d+ looked at\n)*$/);
  return { code, report: JSON.parse(output.stdout) as Report };
}

const codesOf = ({ findings }: Report) => findings.map(({ code }) => code);

describe('countersign doctor', () => {
  it('finds that Temporal knows no namespace, makes it and the schedule, and then misses the worker only', async () => {
    const before = await examine();
    expect(before.code).toBe(1);
    expect(before.report.well).toBe(false);
    expect(codesOf(before.report)).toContain('namespace_missing');

    // A server that others keep busy may know a new namespace only after the time that one mend takes.
    await eventually(async () => {
      const { report } = await examine('--fix', '--as', 'jo');
      return (
        codesOf(report).every((code) => code === 'no_worker') &&
        report.checks.every((c) => c.failure === null)
      );
    }, 'a namespace and a schedule');
    const { rows } = await test.database.query<{ data: object }>(
      'SELECT operator, action, target_id, reason, data FROM operator_acts ORDER BY n LIMIT 1',
    );
    expect(rows).toEqual([
      {
        operator: 'jo',
        action: 'service.mended',
        target_id: 'doctor',
        reason: 'countersign doctor --fix',
        data: {
          mended: expect.any(Number),
          asked: expect.any(Number),
          checks: { foundation: expect.any(Number) },
        },
      },
    ]);
    const after = await examine();
    expect(after.code).toBe(1);
    expect(codesOf(after.report).filter((code) => code !== 'no_worker')).toEqual([]);
    expect(codesOf(after.report)).toContain('no_worker');
    expect(after.report.checks.filter(({ failure }) => failure !== null)).toEqual([]);
  });

  it('is content while a worker runs, in the words of a person too', async () => {
    expect(await start(['tenant', 'create', 'well', '--json']).exited).toBe(0);
    expect(await start(['migrate'], { DATABASE_URL: test.url }).exited).toBe(0);
    const metrics = await takePort();
    const worker = start(['worker'], { METRICS_PORT: String(metrics) });
    onTestFinished(async () => {
      worker.child.kill('SIGTERM');
      await worker.exited;
    });
    const isReady = () =>
      fetch(`http://127.0.0.1:${metrics}/readyz`)
        .then(({ ok }) => ok)
        .catch(() => false);
    await eventually(isReady, 'the worker');
    // Its entities' workflows are started by the worker that was not there before.
    const { code, report } = await eventually(async () => {
      const examined = await examine();
      return examined.report.well && examined;
    }, 'an examination that finds nothing');
    expect([code, report.findings]).toEqual([0, []]);
    expect(report.checks.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['foundation', 'delivery_overdue', 'webhookDelivery', 'deliveries_lost']),
    );

    expect(report.checks.map(({ check }) => check)).not.toContain('issuerKeys');
    await test.database.query(
      `INSERT INTO workload_issuers (id, tenant_id, issuer, jwks_uri, audiences, rules)
       SELECT gen_random_uuid(), id, 'https://cluster.example', 'https://127.0.0.1/keys', '{a}', '[]' FROM tenants`,
    );
    const asked = await examine('--issuers');
    expect(asked.code).toBe(1);
    expect(codesOf(asked.report)).toEqual(['issuer_keys_unreachable']);

    const { exited, output } = start(['doctor']);
    expect(await exited).toBe(0);
    expect(output.stdout).toMatch(/^✓ no partitions of the next days .*\nAll is well\.\n$/s);
  });

  it('says which check could not look, and why, when Temporal is away', async () => {
    const { exited, output } = start(['doctor', '--json'], { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(await exited).toBe(1);
    const { well, checks } = JSON.parse(output.stdout) as Report;
    expect(well).toBe(false);
    const blind = checks.filter(({ failure }) => failure !== null).map(({ check }) => check);
    expect(blind).toEqual(expect.arrayContaining(['foundation', 'webhookDelivery']));
    expect(blind).not.toContain('delivery_overdue');
  });
});
