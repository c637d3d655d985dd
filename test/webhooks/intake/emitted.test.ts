// What the whole service really emits, read from its feed by a stranger's eyes: each event as the published schema of
// its type says.
import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, describe, expect, it } from 'vitest';
import { buildPayloadOfResponse } from '../../../packages/agent/src/payloads.ts';
import { CATALOGUE } from '../../../src/events/catalogue.ts';
import { makeAgent, newKeyPair } from '../../isolation/rows.ts';
import { startTenants } from '../../isolation/tenants-server.ts';
import { FORMATS } from './fixture.ts';

type Shown = { type: string; data: Record<string, unknown> };

/**
 * Emitted by what this file does. What needs workers or time is emitted, and held against the catalogue, in the tests
 * of its room.
 */
const DRIVEN =
  `admin.agent.registered admin.agent.updated admin.agent.suspended admin.agent.reactivated admin.agent.deleted
admin.agent.key.registered admin.agent.key.verified admin.agent.key.deprecated admin.agent.key.revoked admin.delegation.revoked
admin.issuer.key.published admin.issuer.key.revoked auth.login.success auth.login.failure auth.token.issued auth.token.revoked security.refresh_token.reuse security.suspicious_activity
webhook.endpoint.created webhook.endpoint.updated webhook.endpoint.deactivated webhook.endpoint.activated webhook.endpoint.deleted
webhook.endpoint.secret_rotation_started`.split(/\s+/);

const seen: Shown[] = [];
const missing = () => DRIVEN.filter((type) => !seen.some((event) => event.type === type));

const tenants = await startTenants();
await call('POST', '/api/v1/webhooks', { url: 'https://audit.example/', event_types: ['*'] });
await changeSubscription();
const agentId = await changeAgent();
await changeKeys(agentId);
await changeIssuerKeys();
await authenticate();
await delegate();
await useClient();
await readFeed();
afterAll(() => tenants.close());

async function call(method: string, path: string, body?: unknown, status?: number) {
  const answer = await tenants.owner.send(method, path, body);
  if (status === undefined ? answer.status >= 300 : answer.status !== status)
    throw new Error(`${method} ${path}: ${answer.text}`);
  return answer.body;
}

async function changeSubscription() {
  const path = '/api/v1/webhooks';
  const { id } = await call('POST', path, { url: 'https://a.example/', event_types: ['org.created'] });
  await call('PUT', `${path}/${id}`, { description: 'other' });
  await call('PUT', `${path}/${id}`, { active: false });
  await call('PUT', `${path}/${id}`, { active: true, held: 'discard' });
  await call('POST', `${path}/${id}/test`, {});
  await call('POST', `${path}/${id}/secret/rotate`, { overlap_seconds: 3_600 });
  await call('DELETE', `${path}/${id}`);
}

async function changeAgent(): Promise<string> {
  const id = await makeAgent(tenants.owner);
  await call('PATCH', `/api/v1/agents/${id}`, { name: 'Other', metadata: { cost: '1' } });
  await call('PATCH', `/api/v1/agents/${id}/suspend`);
  await call('PATCH', `/api/v1/agents/${id}/reactivate`);
  await call('DELETE', `/api/v1/agents/${await makeAgent(tenants.owner)}`);
  return id;
}

async function changeKeys(agentId: string) {
  const path = `/api/v1/agents/${agentId}/keys`;
  const { key_id } = await call('POST', path, { ...newKeyPair().body, label: 'one' });
  await call('POST', `${path}/${key_id}/deprecate`, {});
  await call('POST', `${path}/${key_id}/revoke`, { reason: 'lost' });
  const { key_id: other } = await call('POST', path, newKeyPair().body);
  await call('POST', `${path}/${other}/revoke`, {});
}

async function changeIssuerKeys() {
  const path = '/api/v1/tenant/issuer-keys';
  const { data } = await call('POST', `${path}/rotate`, {});
  const { kid } = data.find(({ state }: { state: string }) => state === 'published');
  await call('POST', `${path}/${kid}/revoke`, { reason: 'lost' });
}

async function authenticate() {
  const { owner } = tenants;
  const agentId = await makeAgent(owner);
  const key = newKeyPair();
  const { key_id } = await call('POST', `/api/v1/agents/${agentId}/keys`, key.body);
  const question = { key_fingerprint: key.fingerprint, scope: 'openid' };
  const ask = () => owner.send('POST', '/auth/agent/challenge', question, null);
  const verify = async (signature?: string) => {
    const { body: challenge } = await ask();
    return owner.send(
      'POST',
      '/auth/agent/verify',
      {
        challenge_id: challenge.challenge_id,
        signature: signature ?? key.sign(buildPayloadOfResponse(challenge)),
        algorithm: 'ed25519',
      },
      null,
    );
  };
  const { body: tokens } = await verify();
  await verify(key.sign(new Uint8Array(1)));
  await owner.post('/oauth/revoke', { token: tokens.access_token });
  const refresh = (token: string) =>
    owner.post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token }, '');
  const { body: second } = await refresh(tokens.refresh_token);
  await refresh(second.refresh_token);
  expect((await refresh(tokens.refresh_token)).body.error).toBe('invalid_grant');
  const { body: others } = await verify();
  await owner.post('/oauth/revoke', { token: others.refresh_token });
  const { body: orphan } = await verify();
  await call('POST', `/api/v1/agents/${agentId}/keys/${key_id}/revoke`, {});
  expect((await ask()).body.error).toBe('key_revoked');
  await refresh(orphan.refresh_token);
}

async function delegate() {
  const { id } = await call('POST', '/api/v1/delegations', {
    subject: { issuer: 'https://idp.example', sub: 'ada' },
    agent_id: await makeAgent(tenants.owner),
    scopes: ['openid'],
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await call('POST', `/api/v1/delegations/${id}/revoke`, {});
}

async function useClient() {
  const { owner } = tenants;
  const wrong = `Basic ${Buffer.from(`${owner.credentials.client_id}:wrong`).toString('base64')}`;
  expect((await owner.post('/oauth/token', { grant_type: 'client_credentials' }, wrong)).status).toBe(401);
  expect((await owner.post('/oauth/token', { grant_type: 'client_credentials' })).status).toBe(200);
}

/** Reads on until every type that is expected has come; failures are written in the background. */
async function readFeed() {
  let after = '';
  for (let tries = 0; tries < 300 && missing().length > 0; tries += 1) {
    const page = await call('GET', `/api/v1/events?limit=200${after}`);
    seen.push(...page.data);
    after = `&after=${page.next_cursor}`;
    if (!page.has_more) await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

describe('every type that the service reserves', () => {
  it('is emitted by what it does', () => {
    expect(missing()).toEqual([]);
  });

  it('or in the tests of its room, by which its schema is held too', () => {
    const tests = readdirSync('test', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.startsWith('events'))
      .map((file) => readFileSync(`test/${file}`, 'utf8'))
      .join('\n');
    const others = CATALOGUE.filter(({ reserved, type }) => reserved && !DRIVEN.includes(type));
    expect(others.filter(({ type }) => !tests.includes(type)).map(({ type }) => type)).toEqual([]);
  });

  it('carries what its published schema says', async () => {
    const ajv = new Ajv2020({ strict: true, formats: FORMATS });
    const { data: types } = await call('GET', '/api/v1/event-types');
    const schemas = new Map(
      types.map(({ type, schema }: { type: string; schema: object }) => [type, ajv.compile(schema)]),
    );
    expect(seen.length).toBeGreaterThan(20);
    for (const { created_at: _, ...body } of seen as (Shown & { created_at: string })[]) {
      const accepts = schemas.get(body.type) as ReturnType<typeof ajv.compile> | undefined;
      expect(accepts?.(body), `${body.type}: ${JSON.stringify([accepts?.errors, body.data])}`).toBe(true);
    }
  });
});
