// Sends to a receiver in another language that shares no code with this project: both read the specification only.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signDelivery } from '../../../src/webhooks/signing/delivery.signer.ts';
import { attemptTo, BODY, SECRETS, startLocalSender } from '../deliveries/attempt.ts';

const script = fileURLToPath(new URL('receiver.py', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;

describe.skipIf(!hasPython)('a receiver with only Python’s standard library', () => {
  const local = startLocalSender();
  let python: ChildProcess;
  let url: string;

  beforeAll(async () => {
    python = spawn('python3', [script, SECRETS.current], { stdio: ['ignore', 'pipe', 'inherit'] });
    const port = await new Promise<string>((resolve, reject) => {
      python.stdout?.once('data', (line: Buffer) => resolve(line.toString().trim()));
      python.once('exit', () => reject(new Error('the receiver did not start')));
    });
    url = `http://127.0.0.1:${port}/hook`;
  });

  afterAll(async () => {
    python.kill();
    await local.close();
  });

  it('accepts a delivery, and knows its repetition by the delivery id', async () => {
    const first = await local.sender.send(attemptTo(url));
    expect(first).toMatchObject({ statusCode: 202, responseExcerpt: 'accepted' });
    const second = await local.sender.send(attemptTo(url));
    expect(second).toMatchObject({ statusCode: 200, responseExcerpt: 'duplicate' });
  });

  it('refuses what is signed with another secret', async () => {
    const result = await local.sender.send(attemptTo(url, { secrets: { current: 'another secret' } }));
    expect(result).toMatchObject({ outcome: { kind: 'rejected' }, responseExcerpt: 'signature' });
  });

  const now = () => Math.floor(Date.now() / 1000);
  it.each([
    ['another body', {}, { body: '{}' }, 'signature'],
    ['another event', {}, { headers: { 'X-Service-Event': 'auth.logout' } }, 'signature'],
    ['another max-age', {}, { headers: { 'X-Service-Signature-Max-Age': '3600' } }, 'signature'],
    ['another suite', {}, { headers: { 'X-Service-Signature-Suite': 'service-webhook-v2' } }, 'suite'],
    ['an old timestamp', { timestamp: now() - 301 }, {}, 'stale'],
    ['a form', {}, { headers: { 'Content-Type': 'text/plain' } }, 'type'],
  ])(
    'refuses %s',
    async (_what, signed, sent: { body?: string; headers?: Record<string, string> }, reason) => {
      const headers = signDelivery({
        ...{ secrets: SECRETS, timestamp: now(), maxAge: 300, body: BODY },
        ...{ deliveryId: 'tampered', eventType: 'auth.login.success' },
        ...signed,
      });
      const response = await fetch(url, {
        method: 'POST',
        body: sent.body ?? Buffer.from(BODY),
        headers: { 'Content-Type': 'application/json', ...headers, ...sent.headers },
      });
      expect(await response.text()).toBe(reason);
    },
  );
});
