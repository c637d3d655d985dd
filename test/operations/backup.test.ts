// Backup and restore as docs/operations/backup.md says: its own commands, on a server of their own that serves
// meanwhile.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import pg from 'pg';
import { expect, inject, it, onTestFinished } from 'vitest';
import { buildStack } from '../app/local/stack.ts';
import { AUDIT_KEY } from '../setup/database.ts';
import { takePort } from '../setup/ports.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { ask, complete, copy, createServer, restore, startBackup, stopBackup } from './backup-page.ts';

type Server = Awaited<ReturnType<typeof createServer>>;

async function createService(server: Server) {
  const main = join(await buildStack(), 'src/main.js');
  const namespace = `backup-${randomUUID()}`;
  const start = (args: readonly string[], variables: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [main, ...args], {
      env: {
        PATH: process.env.PATH ?? '',
        DATABASE_URL: server.url(),
        DATA_DIR: '/dev/null/unused',
        TEMPORAL_ADDRESS: inject('temporalAddress'),
        TEMPORAL_NAMESPACE: namespace,
        MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
        AUDIT_KEY,
        PUBLIC_URL: 'http://localhost:8080',
        LOG_LEVEL: 'warn',
        METRICS_PORT: '0',
        ...variables,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
    onTestFinished(() => void child.kill('SIGKILL'));
    const stop = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    return { ended, stop };
  };
  return { start, command: (...args: string[]) => start(args).ended };
}

/** Whether the application's secret still opens the door: it needs its hash, and the issuer key that is sealed. */
async function logIn(service: Awaited<ReturnType<typeof createService>>, tenant: Record<string, string>) {
  const port = await takePort();
  const api = service.start(['api'], { PORT: String(port) });
  const origin = `http://127.0.0.1:${port}`;
  const isUp = () =>
    fetch(`${origin}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await eventually(isUp, 'the api');
  const authorization = `Basic ${btoa(`${tenant.client_id}:${tenant.client_secret}`)}`;
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const { status } = await fetch(`${origin}/t/${tenant.slug}/oauth/token`, {
    method: 'POST',
    headers: { authorization },
    body,
  });
  await api.stop();
  return status;
}

it('restores what a backup by hand of a running server has', async () => {
  const server = await createServer();
  const service = await createService(server);
  expect((await service.command('migrate')).code).toBe(0);
  const create = async (slug: string) => {
    const { code, output } = await service.command('tenant', 'create', slug, '--json');
    expect(code, output).toBe(0);
    return { ...(JSON.parse(output) as Record<string, string>), slug };
  };
  const worker = service.start(['worker']);
  const kept = await create('kept');
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  const isSealed = async () => (await client.query('SELECT 1 FROM audit_seals')).rowCount !== 0;
  await eventually(isSealed, 'the first seal');

  await client.query(startBackup);
  const during = await create('during');
  server.shell(copy);
  const { rows } = await client.query<{ labelfile: string }>(stopBackup);
  server.shell(complete, { LABEL: rows[0]?.labelfile ?? '' });
  const late = await create('late');
  const nextXid = async () => {
    const [row] = await ask<{ xid: string }>(server.url(), 'SELECT pg_current_xact_id()::text AS xid');
    return Number(row?.xid);
  };
  expect([await logIn(service, kept), await logIn(service, late)]).toEqual([200, 200]);
  await worker.stop();
  await client.end();
  const lost = await nextXid();

  await server.stop();
  server.shell(restore);
  await server.start();
  expect(await nextXid(), 'ids of the lost time are given anew').toBeLessThan(lost);
  const prepared = await service.command('restore-check', '--used-until', String(lost));
  expect(prepared.output).toMatch(/^Restored to .*\n✓ transaction ids: .*\n✓ single use: .* \(2 tenants\)/);
  expect(prepared.output).toMatch(/\n– workflows and audit log: start api and one worker/);
  expect(prepared.code).toBe(0);
  expect(await nextXid()).toBeGreaterThan(lost);
  const early = await service.command('restore-check');
  expect([early.code, early.output], 'without a worker it can do no more').toEqual([
    1,
    expect.stringMatching(/^✓ restored to .* were done at .*\n– workflows/),
  ]);
  const restarted = service.start(['worker']);
  expect(await logIn(service, kept)).toBe(200);
  expect(await logIn(service, during), 'what was written during the backup is in it').toBe(200);
  expect(await logIn(service, late), 'what came after it is not').toBe(404);
  // As the page says: until it ends with 0.
  const checked = await eventually(async () => {
    const { code, output } = await service.command('restore-check', '--json');
    return code === 0 && (JSON.parse(output) as { parts: { part: string; standing: string }[] });
  }, 'restore-check to find nothing');
  expect(checked).toMatchObject({
    well: true,
    parts: [
      { part: 'preparation', standing: 'well' },
      { part: 'workflows', standing: 'well' },
      { part: 'audit', standing: 'well' },
    ],
  });
  await restarted.stop();
});
