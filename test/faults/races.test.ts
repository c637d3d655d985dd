// One hundred simultaneous requests through two real API processes: what is worth one success gets exactly one.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProver } from '../authentication/dpop/proofs.ts';
import { type Api, accessToken, BASE_URL, race, registerAgent, startApis, tally } from './two-apis.ts';

let stack: Awaited<ReturnType<typeof startApis>>;
let apis: readonly Api[];
let one: Api;
let two: Api;
let token: string;

beforeAll(async () => {
  stack = await startApis((url) => [url, url], { RATE_LIMIT_CLIENT_FAILURES: '0' });
  ({ apis } = stack);
  [one, two] = apis as [Api, Api];
  token = await accessToken(one, stack.authorization);
});
afterAll(() => stack?.close());

const seconds = () => Math.floor(Date.now() / 1000);
const management = () => ({ authorization: `Bearer ${token}` });
const count = async (sql: string, ...values: unknown[]) =>
  (await stack.database.query<{ count: number }>(`SELECT count(*)::int AS count ${sql}`, values)).rows[0]
    ?.count;

it('one challenge: one verification succeeds, ninety-nine get challenge_used', async () => {
  const agent = await registerAgent(one, token);
  const input = agent.sign(await agent.challenge());
  const answers = await race(apis, (api) => api.json('POST', '/auth/agent/verify', input));
  expect(tally(answers)).toEqual({ 200: 1, '400 challenge_used': 99 });
  expect(await count('FROM refresh_tokens WHERE agent_id = $1', agent.id)).toBe(1);
});

describe('one refresh token', () => {
  const refresh = (text: string) => (api: Api) =>
    api.form('/oauth/token', { grant_type: 'refresh_token', refresh_token: text });
  const family = async (agentId: string) => {
    const { rows } = await stack.database.query<{ spent: boolean; revoked_reason: string | null }>(
      'SELECT used_at IS NOT NULL AS spent, revoked_reason FROM refresh_tokens WHERE agent_id = $1 ORDER BY created_at, id',
      [agentId],
    );
    return rows;
  };

  it('has one successor: four of those who ask within the grace get that one', async () => {
    const agent = await registerAgent(one, token);
    const first = await agent.logIn();
    const began = performance.now();
    const answers = await race(apis, refresh(first.refresh_token));
    const took = performance.now() - began;
    const accepted = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(accepted.length).toBeGreaterThan(0);
    expect(accepted.length).toBeLessThanOrEqual(4);
    expect(new Set(accepted.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(new Set(accepted.map(({ body }) => body.access_token)).size).toBe(accepted.length);
    expect(tally(refused)).toEqual({ '400 invalid_grant': refused.length });
    const tokens = await family(agent.id);
    // Only where the hundred take longer than the grace of 10 s; the late ones then end the family.
    const end = tokens[0]?.revoked_reason === null || took < 10_000 ? null : 'reuse';
    if (end === null) expect(accepted).toHaveLength(4);
    expect(tokens).toEqual([
      { spent: true, revoked_reason: end },
      { spent: false, revoked_reason: end },
    ]);
    const { status } = await refresh(accepted[0]?.body.refresh_token)(two);
    expect(status).toBe(end === null ? 200 : 400);
  });

  it('whose successor was used ends the family, and nobody gets anything', async () => {
    const agent = await registerAgent(two, token);
    const first = await agent.logIn();
    const second = (await refresh(first.refresh_token)(one)).body.refresh_token;
    const third = (await refresh(second)(two)).body;
    expect(tally(await race(apis, refresh(first.refresh_token)))).toEqual({ '400 invalid_grant': 100 });
    expect(await family(agent.id)).toEqual([
      { spent: true, revoked_reason: 'reuse' },
      { spent: true, revoked_reason: 'reuse' },
      { spent: false, revoked_reason: 'reuse' },
    ]);
    expect(tally([await refresh(third.refresh_token)(one)])).toEqual({ '400 invalid_grant': 1 });
    const told = "FROM audit_log WHERE action = 'security.refresh_token.reuse' AND target_id = $1";
    expect(await count(told, agent.id)).toBe(1);
  });
});

describe('one DPoP proof', () => {
  /** A key, a nonce of the service's, and a proof for the token endpoint. */
  async function prepare() {
    const prover = await createProver('ES256', seconds());
    const asked = await one.form(
      '/oauth/token',
      { grant_type: 'client_credentials' },
      { authorization: stack.authorization, dpop: await prover.prove() },
    );
    const nonce = asked.headers.get('dpop-nonce');
    const proof = await prover.prove({ claims: { htu: `${BASE_URL}/oauth/token`, nonce } });
    return { prover, proof, nonce };
  }

  it('gets one token', async () => {
    const { proof } = await prepare();
    const answers = await race(apis, (api) =>
      api.form(
        '/oauth/token',
        { grant_type: 'client_credentials' },
        { authorization: stack.authorization, dpop: proof },
      ),
    );
    expect(tally(answers)).toEqual({ 200: 1, '400 invalid_dpop_proof': 99 });
  });

  it('lets one request through', async () => {
    const { prover, proof, nonce } = await prepare();
    const issued = await one.form(
      '/oauth/token',
      { grant_type: 'client_credentials' },
      { authorization: stack.authorization, dpop: proof },
    );
    const bound: string = issued.body.access_token;
    const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(bound));
    const ath = Buffer.from(hash).toString('base64url');
    const claims = { htm: 'GET', htu: `${BASE_URL}/api/v1/agents`, ath, nonce };
    const use = await prover.prove({ claims });
    const answers = await race(apis, (api) =>
      api.get('/api/v1/agents', '', { authorization: `DPoP ${bound}`, dpop: use }),
    );
    expect(tally(answers)).toEqual({ 200: 1, '401 invalid_dpop_proof': 99 });
  });
});

it('one client assertion: a token, and three for the same request within the grace', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const made = await one.json(
    'POST',
    '/api/v1/applications',
    { name: 'Client', scopes: ['openid'], jwks: { keys: [publicKey.export({ format: 'jwk' })] } },
    management(),
  );
  const assertion = await new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuer(made.body.client_id)
    .setSubject(made.body.client_id)
    .setAudience(BASE_URL)
    .setIssuedAt()
    .setExpirationTime('120s')
    .sign(privateKey);
  const answers = await race(apis, (api) =>
    api.form('/oauth/token', {
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
    }),
  );
  expect(tally(answers)).toEqual({ 200: 4, '401 invalid_client': 96 });
});

it('one idempotency key: one agent, and every answer is that one or "in progress"', async () => {
  const headers = { ...management(), 'idempotency-key': randomUUID() };
  const body = { name: 'Only one', metadata: { b: 1, a: [2] } };
  const create = (api: Api) => api.json('POST', '/api/v1/agents', body, headers);
  const answers = await race(apis, create);
  const created = answers.filter(({ status }) => status === 201);
  const others = answers.filter(({ status }) => status !== 201);
  expect(tally(others)).toEqual(others.length === 0 ? {} : { '409 idempotency_in_progress': others.length });
  for (const { headers } of others) expect(headers.get('retry-after')).toBe('1');
  expect(created.filter(({ headers }) => !headers.has('idempotency-replayed'))).toHaveLength(1);
  expect(await count("FROM agents WHERE name = 'Only one'")).toBe(1);
  const again = await create(two);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  for (const { body, headers } of created) {
    expect(body).toEqual(again.body);
    expect(headers.get('location')).toBe(again.headers.get('location'));
  }
  const other = await one.json('POST', '/api/v1/agents', { name: 'Another' }, headers);
  expect(tally([other])).toEqual({ '422 idempotency_key_reused': 1 });
});
