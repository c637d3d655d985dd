// Guesses and floods through two real API processes: limits are those of all together, guessing is reported once, and
// nobody is refused for a stranger.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatePrivateKey } from '../platform/crypto/sign.ts';
import { createStallingProxy } from '../setup/stalling-proxy.ts';
import { type Answer, type Api, accessToken, registerAgent, startApis, tally } from './two-apis.ts';

const ADDRESS_LIMIT = 200;

let stack: Awaited<ReturnType<typeof startApis>>;
let proxy: Awaited<ReturnType<typeof createStallingProxy>>;
let apis: readonly Api[];
let one: Api;
let two: Api;
let token: string;

beforeAll(async () => {
  stack = await startApis(
    async (url) => {
      proxy = await createStallingProxy(url);
      return [url, proxy.url];
    },
    {
      TRUSTED_PROXIES: '127.0.0.1/32',
      RATE_LIMIT_ADDRESS: String(ADDRESS_LIMIT),
      RATE_LIMIT_FINGERPRINT_FAILURES: '10',
      RATE_LIMIT_CLIENT_FAILURES: '10',
      LOG_LEVEL: 'fatal',
    },
  );
  ({ apis } = stack);
  [one, two] = apis as [Api, Api];
  token = await accessToken(one, stack.authorization);
  const body = { url: 'https://receiver.example.com/', event_types: ['security.*'], sink: 'security' };
  const { status } = await one.json('POST', '/api/v1/webhooks', body, { authorization: `Bearer ${token}` });
  expect(status).toBe(201);
});
afterAll(async () => {
  proxy?.resume();
  await stack?.close();
  await proxy?.close();
});

/** Sends one after the other, in turn to each process. */
async function sendInTurn(count: number, send: (api: Api) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let index = 0; index < count; index += 1) answers.push(await send(apis[index % 2] as Api));
  return answers;
}

const from = (address: string) => ({ 'x-forwarded-for': address });

/** How often a subject's guessing was reported: in the audit log, and as an event. */
async function told(subject: string) {
  const { rows } = await stack.database.query<{ audited: number; emitted: number }>(
    `SELECT (SELECT count(*)::int FROM audit_log WHERE action = $1 AND target_id = $2) AS audited,
       (SELECT count(*)::int FROM events WHERE type = $1 AND convert_from(body, 'UTF8') LIKE '%' || $2 || '%') AS emitted`,
    ['security.brute_force.detected', subject],
  );
  return rows[0];
}

describe('wrong signatures of one key', () => {
  it('are allowed ten times from an address, in both processes together; a right one always passes', async () => {
    const agent = await registerAgent(one, token);
    const forged = agent.sign(await agent.challenge(), generatePrivateKey('ed25519'));
    const guess = (address: string) => (api: Api) =>
      api.json('POST', '/auth/agent/verify', forged, from(address));
    const answers = await sendInTurn(30, guess('203.0.113.10'));
    expect(tally(answers)).toEqual({ '401 invalid_signature': 10, '429 rate_limited': 20 });
    const refused = answers.filter(({ status }) => status === 429);
    for (const { headers } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(headers.get('ratelimit')).toMatch(/"address";r=\d+;t=\d+, .*"fingerprint-failures";r=0;t=\d+$/);
    }
    for (const api of apis) {
      const right = agent.sign(await agent.challenge());
      const { status } = await api.json('POST', '/auth/agent/verify', right, from('203.0.113.10'));
      expect(status).toBe(200);
    }
    expect(tally([await guess('203.0.113.11')(two)])).toEqual({ '401 invalid_signature': 1 });
    expect(await told(agent.id)).toEqual({ audited: 1, emitted: 1 });
  });

  it('from many addresses are one attack, which is reported once', async () => {
    const agent = await registerAgent(one, token);
    const forged = agent.sign(await agent.challenge(), generatePrivateKey('ed25519'));
    let last = 20;
    const answers = await sendInTurn(24, (api) =>
      api.json('POST', '/auth/agent/verify', forged, from(`203.0.113.${++last}`)),
    );
    expect(tally(answers)).toEqual({ '401 invalid_signature': 24 });
    expect(await told(agent.id)).toEqual({ audited: 1, emitted: 1 });
  });

  it('count an IPv6 network as one address', async () => {
    const agent = await registerAgent(one, token);
    const forged = agent.sign(await agent.challenge(), generatePrivateKey('ed25519'));
    let last = 0;
    const answers = await sendInTurn(12, (api) =>
      api.json('POST', '/auth/agent/verify', forged, from(`2001:db8:1:2::${(++last).toString(16)}`)),
    );
    expect(tally(answers)).toEqual({ '401 invalid_signature': 10, '429 rate_limited': 2 });
  });
});

it('wrong secrets of a client: the same', async () => {
  const wrong = `Basic ${Buffer.from(`${stack.clientId}:wrong`).toString('base64')}`;
  const ask = (authorization: string, address: string) => (api: Api) =>
    api.form('/oauth/token', { grant_type: 'client_credentials' }, { authorization, ...from(address) });
  const answers = await sendInTurn(30, ask(wrong, '203.0.113.60'));
  expect(tally(answers)).toEqual({ '401 invalid_client': 10, '429 rate_limited': 20 });
  for (const api of apis) expect((await ask(stack.authorization, '203.0.113.60')(api)).status).toBe(200);
  expect(tally([await ask(wrong, '203.0.113.61')(two)])).toEqual({ '401 invalid_client': 1 });
  // This record is written in the background.
  await expect.poll(() => told(stack.clientId ?? '')).toEqual({ audited: 1, emitted: 1 });
});

describe('the limit of an address', () => {
  const probe = (address: string) => (api: Api) =>
    api.json(
      'POST',
      '/auth/agent/challenge',
      { key_fingerprint: '0'.repeat(64), scope: 'openid' },
      from(address),
    );

  it('is one for both processes, but for the little that they have not told each other yet', async () => {
    const answers = await sendInTurn(2 * ADDRESS_LIMIT, probe('203.0.113.70'));
    const admitted = answers.filter(({ status }) => status === 404);
    const refused = answers.filter(({ status }) => status === 429);
    expect(admitted.length + refused.length).toBe(2 * ADDRESS_LIMIT);
    expect(admitted.length).toBeGreaterThanOrEqual(ADDRESS_LIMIT);
    // A twentieth for each process, and as much again for a slow database; counted apart it would be twice the limit.
    expect(admitted.length).toBeLessThan(1.25 * ADDRESS_LIMIT);
    for (const { headers } of [...admitted, ...refused])
      expect(headers.get('ratelimit-policy')).toContain(`"address";q=${ADDRESS_LIMIT};w=60`);
    for (const { headers, body } of refused) {
      expect(body.error).toBe('rate_limited');
      expect(headers.get('ratelimit')).toMatch(/^"address";r=0;t=\d+$/);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await probe('203.0.113.71')(one)).status).toBe(404);
  });

  it('holds in each process alone while the database is away, and is never a 500', async () => {
    proxy.stall();
    const answers = await Promise.all(
      Array.from({ length: ADDRESS_LIMIT + 20 }, () => probe('203.0.113.80')(two)),
    );
    const { '429 rate_limited': refused, ...others } = tally(answers);
    expect(refused).toBe(20);
    expect(others).toEqual({ '503 temporarily_unavailable': ADDRESS_LIMIT });
    proxy.resume();
    await expect.poll(async () => (await probe('203.0.113.81')(two)).status).toBe(404);
  });
});
