// What one API process ends, another refuses within a second: with notifications, without any, and with the database
// out of reach.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDeafProxy } from '../setup/deaf-proxy.ts';
import { createStallingProxy } from '../setup/stalling-proxy.ts';
import { type Answer, type Api, accessToken, registerAgent, startApis, tally } from './two-apis.ts';

/** Milliseconds within which every process knows of a decision. */
const PROMISED = 1_000;

/** Milliseconds that three processes may take to start on a machine that does much else. */
const START = 300_000;

let stack: Awaited<ReturnType<typeof startApis>>;
let deafProxy: Awaited<ReturnType<typeof createDeafProxy>>;
let stallingProxy: Awaited<ReturnType<typeof createStallingProxy>>;
let here: Api;
let there: Record<'that listens' | 'that is deaf', Api>;
let token: string;

beforeAll(async () => {
  stack = await startApis(async (url) => {
    deafProxy = await createDeafProxy(url);
    stallingProxy = await createStallingProxy(url);
    return [url, stallingProxy.url, deafProxy.url];
  });
  const [first, second, deaf] = stack.apis as [Api, Api, Api];
  here = first;
  there = { 'that listens': second, 'that is deaf': deaf };
  token = await accessToken(here, stack.authorization);
}, START);
afterAll(async () => {
  stallingProxy?.resume();
  await stack?.close();
  await Promise.all([deafProxy?.close(), stallingProxy?.close()]);
});

const management = () => ({ authorization: `Bearer ${token}` });

type Holder = Awaited<ReturnType<typeof prepare>>;

/** An agent with tokens, and an application that acts for it with tokens of its own. */
async function prepare() {
  const agent = await registerAgent(here, token);
  const body = { name: 'Its program', scopes: ['openid'], agent_id: agent.id };
  const { body: application } = await here.json('POST', '/api/v1/applications', body, management());
  const secret = `Basic ${Buffer.from(`${application.client_id}:${application.client_secret}`).toString('base64')}`;
  return { agent, tokens: await agent.logIn(), linked: await accessToken(here, secret) };
}

const END: readonly [string, (holder: Holder) => Promise<Answer>][] = [
  ['a suspension', ({ agent }) => here.json('PATCH', `${agent.path}/suspend`, {}, management())],
  ['a deletion', ({ agent }) => here.json('DELETE', agent.path, {}, management())],
  [
    'the revocation of its key',
    ({ agent }) => here.json('POST', `${agent.path}/keys/${agent.keyId}/revoke`, {}, management()),
  ],
  [
    'the revocation of its refresh token',
    ({ tokens }) =>
      here.form('/oauth/revoke', { token: tokens.refresh_token }, { authorization: stack.authorization }),
  ],
];

describe.each(['that listens', 'that is deaf'] as const)('in a process %s', (kind) => {
  const useAccessToken = (text: string) => there[kind].get('/userinfo', text);
  const introspect = (text: string) =>
    there[kind].form('/oauth/introspect', { token: text }, { authorization: stack.authorization });
  const refresh = (text: string) =>
    there[kind].form('/oauth/token', { grant_type: 'refresh_token', refresh_token: text });

  it.each(END)('%s ends the agent’s tokens', async (name, end) => {
    const holder = await prepare();
    const { access_token, refresh_token } = holder.tokens;
    const concerned = name.startsWith('the revocation') ? [access_token] : [access_token, holder.linked];
    for (const text of concerned) {
      expect((await useAccessToken(text)).status).toBe(200);
      expect((await introspect(text)).body.active).toBe(true);
    }
    expect((await introspect(refresh_token)).body.active).toBe(true);
    const withheld = deafProxy.withheld();
    expect((await end(holder)).status).toBeLessThan(300);
    // Refresh tokens are read where they are stored: these are refused immediately.
    expect(tally([await refresh(refresh_token)])).toEqual({ '400 invalid_grant': 1 });
    expect((await introspect(refresh_token)).body).toEqual({ active: false });
    // What is asked this long after the decision was answered is refused, however slow the machine is.
    await sleep(PROMISED);
    for (const text of concerned) {
      expect(tally([await useAccessToken(text)])).toEqual({ '401 token_revoked': 1 });
      expect((await introspect(text)).body).toEqual({ active: false });
    }
    if (!name.startsWith('a')) expect((await useAccessToken(holder.linked)).status).toBe(200);
    // The notification was sent, and withheld.
    if (kind === 'that is deaf') expect(deafProxy.withheld()).toBeGreaterThan(withheld);
  });
});

it('a process that cannot ask the database accepts no token, and does again when it can', async () => {
  // This route reads nothing of its own.
  const use = () => there['that listens'].get('/api/v1/event-types', token);
  expect((await use()).status).toBe(200);
  stallingProxy.stall();
  await sleep(PROMISED);
  const { status, body, headers } = await use();
  expect([status, body.error]).toEqual([503, 'temporarily_unavailable']);
  expect(headers.get('retry-after')).toMatch(/^\d+$/);
  stallingProxy.resume();
  await expect.poll(async () => (await use()).status).toBe(200);
});
