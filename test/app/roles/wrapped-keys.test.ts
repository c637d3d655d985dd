// Processes with wrapped keys: they ask the key service at their start and never again, and their environment and data
// folder have no plain key.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { wrapKey } from '../../../src/app/keys.ts';
import { startKeyServices } from '../../platform/kms/fake-key-services.ts';
import { AUDIT_KEY } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { takePort } from '../../setup/ports.ts';
import { prepareRuns } from './role-runs.ts';

const runs = await prepareRuns();
afterAll(() => runs.close());

const bytesOf = (key: string | undefined) => Buffer.from(key ?? '', 'base64');

describe.each(['awskms:alias/countersign', 'vault:transit/countersign'])('%s', (by) => {
  it('tokens go on and the log is sealed while the key service is away; a start says what is missing', async () => {
    const services = await startKeyServices();
    for (const [name, value] of Object.entries(services.env)) vi.stubEnv(name, value);
    onTestFinished(() => void vi.unstubAllEnvs());
    const env = {
      ...services.env,
      NODE_ENV: 'production',
      MASTER_KEY: await wrapKey(services.env, by, bytesOf(runs.base.MASTER_KEY), 'MASTER_KEY'),
      AUDIT_KEY: await wrapKey(services.env, by, bytesOf(AUDIT_KEY), 'AUDIT_KEY'),
    };
    const start = (role: string, more: Record<string, string>) => {
      const started = runs.run([role], { ...env, ...more });
      onTestFinished(async () => {
        started.child.kill('SIGTERM');
        await started.exited;
      });
      return started;
    };
    const [port, metrics] = [await takePort(), await takePort()];
    const created = runs.run(['application', 'create', 'robot', '--tenant', 'demo', '--json'], env);
    expect([await created.exited, created.output.stderr]).toEqual([
      0,
      expect.not.stringContaining('MASTER_KEY'),
    ]);
    const { client_id, client_secret } = JSON.parse(created.output.stdout) as Record<string, string>;
    const api = start('api', { PORT: String(port) });
    const worker = start('worker', { METRICS_PORT: String(metrics) });
    const at = `http://127.0.0.1:${port}`;
    const isReady = async (url: string) => expect((await fetch(`${url}/readyz`)).status).toBe(200);
    await vi.waitFor(() => isReady(at), PATIENCE);
    await vi.waitFor(() => isReady(`http://127.0.0.1:${metrics}`), PATIENCE);
    const asked = services.asked();
    await services.close();

    // The limits of a real api are shorter than the pauses of a busy machine: 503 is sent again.
    const send = (path: string, init: RequestInit) =>
      vi.waitFor(async () => {
        const answer = await fetch(`${at}/t/demo${path}`, init);
        expect(answer.status).not.toBe(503);
        return answer;
      }, PATIENCE);
    const token = async () => {
      const answer = await send('/oauth/token', {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      });
      return { status: answer.status, ...((await answer.json()) as { access_token: string }) };
    };
    for (let count = 0; count < 20; count += 1) expect((await token()).status).toBe(200);
    // A secret is sealed with the master key, and an issuer key opened again that other processes have published.
    const webhook = await send('/api/v1/webhooks', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${(await token()).access_token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ url: 'https://receiver.example/hook', event_types: ['*'] }),
    });
    expect(webhook.status).toBe(201);
    await vi.waitFor(async () => {
      const { rows } = await runs.test.database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM audit_log WHERE NOT EXISTS
           (SELECT FROM audit_checkpoints WHERE audit_log.id = ANY (row_ids))`,
      );
      expect(rows[0]?.count).toBe(0);
    }, PATIENCE);
    expect(services.asked()).toBe(asked);

    for (const { child, dataDir } of [api, worker]) {
      const environment = readFileSync(`/proc/${child.pid}/environ`, 'utf8');
      expect(environment).toContain(`${by}:`);
      for (const plain of [runs.base.MASTER_KEY, AUDIT_KEY]) expect(environment).not.toContain(plain);
      expect(() => readdirSync(dataDir)).toThrow('ENOENT');
    }

    const late = start('api', { PORT: String(await takePort()) });
    expect([await late.exited, late.output.stderr]).toEqual([
      1,
      expect.stringMatching(/^countersign: MASTER_KEY: .* is away, asked 4 times: connect ECONNREFUSED/m),
    ]);
  });

  it('is brought in online: reseal moves every secret from a plain key to a wrapped one', async () => {
    const services = await startKeyServices();
    const made = runs.run(['master-key', 'wrap', by], services.env);
    expect(await made.exited).toBe(0);
    const wrapped = made.output.stdout.trim();
    const { rows } = await runs.test.database.query('SELECT 1 FROM issuer_keys');
    expect(rows.length).toBeGreaterThan(0);
    const command = async (MASTER_KEY: string, ...words: string[]) => {
      const { exited, output } = runs.run(['master-key', ...words], { ...services.env, MASTER_KEY });
      return { code: await exited, ...output };
    };
    const before = String(runs.base.MASTER_KEY);
    expect(await command(`${wrapped},${before}`, 'reseal')).toMatchObject({ code: 0 });
    expect(await command(wrapped, 'status')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Nothing names another master key.'),
    });
    // Back again, for the case that follows.
    expect(await command(`${before},${wrapped}`, 'reseal')).toMatchObject({ code: 0 });
  });
});
