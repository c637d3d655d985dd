// Enrollment over HTTP: what management and the agent see, who is let in, and what no answer repeats.
import { afterAll, describe, expect, it } from 'vitest';
import type { KeyAlgorithm } from '../../../src/platform/crypto/algorithm.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createRooms } from '../agents/agent-rooms.ts';
import { proveFreshKey } from './enrolling.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database);
for (const slug of ['demo', 'acme']) await rooms.tenants.create({ slug });
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants });
afterAll(() => server.drain(0));

const admin = {
  authorization: `Bearer ${tokenFor('admin', 'agents:read', 'agents:write', 'agents:capabilities', 'agents:impersonate')}`,
};
const reader = { authorization: `Bearer ${tokenFor('reader', 'agents:read')}` };
const ROOT = '/api/v1/agents';
const post = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
  server.send('POST', path, body, headers);

/** An agent, the path of its enrollment tokens, and the answer that makes one. */
async function prepare(headers: Record<string, string> = {}) {
  const agent = await post(ROOT, { name: 'Robot' }, admin);
  const path = `${ROOT}/${agent.body.id}/enrollment-tokens`;
  const created = await post(path, undefined, { ...admin, ...headers });
  return { agentId: agent.body.id as string, path, created };
}

/** What the agent sends, made from nothing but the answer it was handed. */
function enrollmentOf(
  { token, tenant_id: tenantId, agent_id: agentId }: Record<string, string>,
  algorithm: KeyAlgorithm = 'ed25519',
) {
  const key = proveFreshKey({ tenantId: tenantId ?? '', agentId: agentId ?? '' }, { algorithm });
  return { token, algorithm, public_key: key.publicKey, proof: key.proof };
}

describe('a token', () => {
  it('is shown once, with all that the agent needs, and is good for one key', async () => {
    const { agentId, path, created } = await prepare();
    expect(created.status).toBe(201);
    expect(created.headers.get('cache-control')).toBe('no-store');
    expect(created.body).toEqual({
      id: expect.any(String),
      enrollment_token_id: expect.any(String),
      token: expect.stringMatching(/^enroll_[\w-]{43}$/),
      expires_at: expect.stringMatching(/Z$/),
      tenant_id: (await rooms.tenants.bySlug('demo'))?.id,
      agent_id: agentId,
      enroll_url: 'http://localhost:8080/auth/agent/enroll',
    });
    const input = { ...enrollmentOf(created.body), label: 'own' };
    const key = await post('/auth/agent/enroll', input);
    expect(key.status).toBe(201);
    expect(key.headers.get('cache-control')).toBe('no-store');
    expect(key.body).toMatchObject({ agent_id: agentId, label: 'own', state: 'active' });
    expect(key.body.verified_at).toMatch(/Z$/);
    const again = await post('/auth/agent/enroll', input);
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
    const listed = await server.send('GET', path, undefined, reader);
    expect(listed.text).not.toContain(created.body.token);
    expect(listed.body).toEqual({
      data: [
        {
          id: created.body.enrollment_token_id,
          enrollment_token_id: created.body.enrollment_token_id,
          agent_id: agentId,
          status: 'used',
          created_at: expect.any(String),
          expires_at: created.body.expires_at,
          used_at: expect.stringMatching(/Z$/),
          revoked_at: null,
          key_id: key.body.key_id,
        },
      ],
      next_cursor: null,
    });
  });

  it('is not in a replayed answer', async () => {
    const { path, created } = await prepare({ 'idempotency-key': 'once' });
    const replayed = await post(path, undefined, { ...admin, 'idempotency-key': 'once' });
    const { token, ...rest } = created.body;
    expect(token).toBeTypeOf('string');
    expect([replayed.status, replayed.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(replayed.body).toEqual(rest);
    const { rows } = await rooms.database.query<{ body: unknown }>(
      "SELECT body FROM idempotency_keys WHERE key = 'once'",
    );
    expect(JSON.stringify(rows)).not.toContain(token);
    expect((await post('/auth/agent/enroll', enrollmentOf(created.body))).status).toBe(201);
  });

  it('is listed in pages, the newest first, and revoked', async () => {
    const { path, created } = await prepare();
    const second = await post(path, {}, admin);
    const first = await server.send('GET', `${path}?limit=1`, undefined, reader);
    expect(first.body.data[0].enrollment_token_id).toBe(second.body.enrollment_token_id);
    const rest = await server.send('GET', `${path}?cursor=${first.body.next_cursor}`, undefined, reader);
    expect(rest.body.data).toHaveLength(1);
    const id = created.body.enrollment_token_id;
    const revoked = await server.send('DELETE', `${path}/${id}`, undefined, admin);
    expect([revoked.status, revoked.text]).toEqual([204, '']);
    const after = await server.send('GET', path, undefined, reader);
    expect(after.body.data.map(({ status }: { status: string }) => status)).toEqual(['open', 'revoked']);
    const refused = await post('/auth/agent/enroll', enrollmentOf(created.body));
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
    await post('/auth/agent/enroll', enrollmentOf(second.body));
    const used = await server.send('DELETE', `${path}/${second.body.enrollment_token_id}`, undefined, admin);
    expect([used.status, used.body.error]).toEqual([409, 'conflict']);
  });
});

describe('management', () => {
  it('needs the scope, and finds only what is its own', async () => {
    const { agentId, path, created } = await prepare();
    const other = await prepare();
    const one = `${path}/${created.body.enrollment_token_id}`;
    const send = (method: string, target: string, headers: Record<string, string>) =>
      server.send(method, target, undefined, headers).then(({ status }) => status);
    for (const [method, target] of [
      ['GET', path],
      ['POST', path],
      ['DELETE', one],
    ] as const) {
      expect(await send(method, target, {}), method).toBe(401);
      const wrong = { authorization: `Bearer ${tokenFor('app', 'openid', 'applications:write')}` };
      expect(await send(method, target, wrong), method).toBe(403);
      expect(await send(method, `/t/acme${target}`, admin), method).toBe(404);
      expect(await send(method, target.replace(agentId, newId()), admin), method).toBe(404);
      if (method !== 'GET') expect(await send(method, target, reader), method).toBe(403);
    }
    for (const id of [newId(), 'malformed', other.created.body.enrollment_token_id])
      expect(await send('DELETE', `${path}/${id}`, admin), id).toBe(404);
    await server.send('DELETE', `${ROOT}/${agentId}`, undefined, admin);
    expect(await send('GET', path, admin)).toBe(404);
    const refused = await post('/auth/agent/enroll', enrollmentOf(created.body));
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
  });

  it('may make a token for a suspended agent, which is refused until that ends', async () => {
    const { agentId, path } = await prepare();
    await server.send('PATCH', `${ROOT}/${agentId}/suspend`, undefined, admin);
    const { body } = await post(path, undefined, admin);
    const denied = await post('/auth/agent/enroll', enrollmentOf(body));
    expect([denied.status, denied.body.error]).toEqual([403, 'policy_denied']);
    await server.send('PATCH', `${ROOT}/${agentId}/reactivate`, undefined, admin);
    expect((await post('/auth/agent/enroll', enrollmentOf(body))).status).toBe(201);
  });
});

describe('an enrollment', () => {
  it.each([
    ['without a proof', { proof: undefined }, 400, 'invalid_request'],
    ['with a wrong proof', { proof: 'AAAA' }, 400, 'invalid_request'],
    ['without a token', { token: undefined }, 400, 'invalid_request'],
    ['with an unknown token', { token: 'enroll_nothing' }, 400, 'invalid_grant'],
    ['with an unknown algorithm', { algorithm: 'rsa' }, 400, 'invalid_request'],
    [
      'with a private key',
      { public_key: { kty: 'OKP', crv: 'Ed25519', x: 'AA', d: 'AA' } },
      400,
      'invalid_request',
    ],
    ['with an unknown field', { agent_id: newId() }, 400, 'invalid_request'],
  ])('%s is refused and leaves the token as it was', async (_, changes, status, error) => {
    const { created } = await prepare();
    const input = enrollmentOf(created.body);
    const refused = await post('/auth/agent/enroll', { ...input, ...changes });
    expect([refused.status, refused.body.error]).toEqual([status, error]);
    expect((await post('/auth/agent/enroll', input)).status).toBe(201);
  });

  it('in another tenant is one with an unknown token', async () => {
    const { created } = await prepare();
    const refused = await post('/t/acme/auth/agent/enroll', enrollmentOf(created.body));
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant']);
  });

  it('of a key that is registered already is a conflict', async () => {
    const { created } = await prepare();
    const input = enrollmentOf(created.body, 'es256');
    await post('/auth/agent/enroll', input);
    const { body } = await post(`${ROOT}/${created.body.agent_id}/enrollment-tokens`, {}, admin);
    const refused = await post('/auth/agent/enroll', { ...input, token: body.token });
    expect([refused.status, refused.body.error]).toEqual([409, 'key_exists']);
  });
});
