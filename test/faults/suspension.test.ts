// A tenant that an operator suspends, by the command and in a process of its own, is refused by every API process
// within a second.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { proveFreshKey } from '../identity/enrollments/enrolling.ts';
import { createDeafProxy } from '../setup/deaf-proxy.ts';
import { type Api, accessToken, registerAgent, startApis, tally } from './two-apis.ts';

/** Milliseconds within which every process knows of it. */
const PROMISED = 1_000;

const DENIED = { '403 policy_denied': 1 };

let stack: Awaited<ReturnType<typeof startApis>>;
let deafProxy: Awaited<ReturnType<typeof createDeafProxy>>;
let apis: Api[];
let here: Api;

beforeAll(async () => {
  stack = await startApis(async (url) => {
    deafProxy = await createDeafProxy(url);
    return [url, url, deafProxy.url];
  });
  apis = stack.apis;
  here = apis[0] as Api;
});
afterAll(async () => {
  await stack?.close();
  await deafProxy?.close();
});

const operator = async (...args: string[]) =>
  JSON.parse(await stack.run('operator', 'tenant', ...args, '--as', 'jo', '--reason', 'abuse', '--json'));

/** An agent with its tokens, an enrollment token, and a token of the management application. */
async function prepare() {
  const token = await accessToken(here, stack.authorization);
  const agent = await registerAgent(here, token);
  const headers = { authorization: `Bearer ${token}` };
  const enrollment = await here.json('POST', `${agent.path}/enrollment-tokens`, {}, headers);
  const challenge = await agent.challenge();
  return { token, headers, agent, tokens: await agent.logIn(), challenge, enrollment: enrollment.body.token };
}

describe('while the tenant is suspended', () => {
  let before: Awaited<ReturnType<typeof prepare>>;
  beforeAll(async () => {
    before = await prepare();
    for (const api of apis) expect((await api.get('/api/v1/tenant', before.token)).status).toBe(200);
    expect(await operator('suspend', 'demo')).toMatchObject({ slug: 'demo', changed: true });
    // What is asked this long after the command has ended is refused, however slow the machine is.
    await sleep(PROMISED);
  });

  it.each([0, 1, 2])('nobody authenticates in process %i, and no token is good there', async (index) => {
    const api = apis[index] as Api;
    const { agent, tokens, challenge, headers, token, enrollment } = before;
    const { authorization } = stack;
    const asked = { key_fingerprint: challenge.key_fingerprint, scope: 'openid email' };
    expect(tally([await api.json('POST', '/auth/agent/challenge', asked)])).toEqual(DENIED);
    expect(tally([await api.json('POST', '/auth/agent/verify', agent.sign(challenge))])).toEqual(DENIED);
    const grants = [
      { grant_type: 'client_credentials' },
      { grant_type: 'refresh_token', refresh_token: tokens.refresh_token },
      {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: tokens.access_token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      },
    ];
    for (const grant of grants)
      expect(tally([await api.form('/oauth/token', grant, { authorization })])).toEqual(DENIED);
    const enroll = { enrollment_token: enrollment, algorithm: 'ed25519', public_key: 'x', proof: 'x' };
    expect(tally([await api.json('POST', '/auth/agent/enroll', enroll)])).toEqual(DENIED);
    expect(tally([await api.get('/api/v1/agents', token)])).toEqual(DENIED);
    expect(tally([await api.get('/userinfo', tokens.access_token)])).toEqual(DENIED);
    const event = { type: 'wallet.tx.signed', data: {} };
    expect(tally([await api.json('POST', '/api/v1/events', event, headers)])).toEqual(DENIED);
    for (const text of [token, tokens.access_token, tokens.refresh_token]) {
      const { status, body } = await api.form('/oauth/introspect', { token: text }, { authorization });
      expect([status, body]).toEqual([200, { active: false }]);
    }
    expect((await api.get('/.well-known/jwks.json', '')).status).toBe(200);
    expect((await api.get('/.well-known/oauth-authorization-server', '')).status).toBe(200);
  });

  it('another tenant notices nothing', async () => {
    const created = JSON.parse(await stack.run('tenant', 'create', 'neighbour', '--json'));
    const basic = Buffer.from(`${created.client_id}:${created.client_secret}`).toString('base64');
    const headers = { authorization: `Basic ${basic}` };
    for (const api of apis) {
      const { status } = await api.form(
        '/t/neighbour/oauth/token',
        { grant_type: 'client_credentials' },
        headers,
      );
      expect(status).toBe(200);
    }
  });

  it('when it is resumed it authenticates in every process, and no token of before is good again', async () => {
    expect(await operator('resume', 'demo')).toMatchObject({ suspended_at: null, changed: true });
    await sleep(PROMISED);
    const { agent, tokens, token } = before;
    for (const api of apis) {
      expect(tally([await api.get('/api/v1/agents', token)])).toEqual({ '401 token_revoked': 1 });
      expect(tally([await api.get('/userinfo', tokens.access_token)])).toEqual({ '401 token_revoked': 1 });
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
      expect(tally([await api.form('/oauth/token', refresh)])).toEqual({ '400 invalid_grant': 1 });
      const fresh = await agent.logIn(api);
      for (const other of apis) expect((await other.get('/userinfo', fresh.access_token)).status).toBe(200);
      const { body } = await api.form(
        '/oauth/introspect',
        { token: fresh.refresh_token },
        { authorization: stack.authorization },
      );
      expect(body.active).toBe(true);
      expect((await api.get('/api/v1/agents', await accessToken(api, stack.authorization))).status).toBe(200);
    }
  });

  it('an enrollment token of before registers no key, and a challenge of before answers nothing', async () => {
    const { agent, challenge, enrollment } = before;
    const owner = { tenantId: stack.tenantId ?? '', agentId: agent.id };
    const enroll = (token: string, api: Api) => {
      const { publicKey, proof } = proveFreshKey(owner);
      const body = { token, algorithm: 'ed25519', public_key: publicKey, proof };
      return api.json('POST', '/auth/agent/enroll', body);
    };
    for (const api of apis) {
      expect(tally([await enroll(enrollment, api)])).toEqual({ '400 invalid_grant': 1 });
      const signed = agent.sign(challenge);
      expect(tally([await api.json('POST', '/auth/agent/verify', signed)])).toEqual({
        '400 challenge_expired': 1,
      });
      const headers = { authorization: `Bearer ${await accessToken(api, stack.authorization)}` };
      const { body } = await api.json('POST', `${agent.path}/enrollment-tokens`, {}, headers);
      expect((await enroll(body.token, api)).status).toBe(201);
    }
  });
});
