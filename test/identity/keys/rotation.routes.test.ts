// Rotations over HTTP: the tenant's routes, and the agent's own with its token and two proofs.
import { describe, expect, it, vi } from 'vitest';
import { buildRotationProofPayload } from '../../../packages/agent/src/payloads.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { answer, ask, type Signer } from '../../authentication/challenges/answer.ts';
import { useAccountsServer } from '../../authentication/tokens/accounts-server.ts';
import { signPayload } from '../../platform/crypto/sign.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { createTestAgent, createTestTenant, readAudit } from '../agents/agent-rooms.ts';
import { newKeyPair } from './rotation-case.ts';

const { server } = await useAccountsServer();

const { rooms } = server;

/** A tenant's administrator, and an agent with a key. */
async function prepare() {
  const context = await createTestTenant(rooms);
  const holder = await createTestAgent(rooms, context);
  const { tenant } = context;
  const issue = async (grant: { sub: string; clientId: string; scopes: string[] }) =>
    (await rooms.tokens.issueAccessToken(tenant, { audience: tenant.audience, ...grant })).accessToken;
  const clientId = newId();
  const token = await issue({
    sub: clientId,
    clientId,
    scopes: ['agents:read', 'agents:write', 'agents:capabilities', 'agents:impersonate'],
  });
  const root = `${tenant.baseUrl}/api/v1/agents/${holder.agent.id}/keys/rotations`;
  const send = (method: string, path: string, body?: unknown) =>
    server.send(method, root + path, token, body);
  const next = newKeyPair();
  const request = { old_key_id: holder.key.id, algorithm: next.algorithm, public_key: next.publicKey };
  return { context, ...holder, issue, send, root, token, next, request };
}

describe('a rotation by the tenant', () => {
  it('is accepted with its place, read there, listed, and canceled', async () => {
    const { agent, key, context, send, root, request } = await prepare();
    const accepted = await send('POST', '', { ...request, overlap_seconds: 60, deadline_seconds: 90 });
    expect(accepted.status).toBe(202);
    expect(accepted.headers.get('location')).toBe(`${root}/${accepted.body.rotation_id}`);
    expect(accepted.body).toEqual({
      id: expect.any(String),
      rotation_id: expect.any(String),
      agent_id: agent.id,
      old_key_id: key.id,
      new_key_id: expect.any(String),
      state: 'waiting_for_switch',
      end_reason: null,
      overlap_seconds: 60,
      deadline_at: expect.stringMatching(/Z$/),
      switched_at: null,
      stalled_at: null,
      sunset_at: null,
      created_at: expect.stringMatching(/Z$/),
      ended_at: null,
      workflow_id: `key-rotation/${key.id}`,
      workflow_url: expect.stringContaining(encodeURIComponent(`key-rotation/${key.id}`)),
    });
    const { rotation_id: id } = accepted.body;
    expect((await send('GET', `/${id}`)).body).toEqual(accepted.body);
    expect((await send('GET', '?state=waiting_for_switch')).body).toEqual({
      data: [accepted.body],
      next_cursor: null,
    });
    expect((await send('GET', '?state=completed')).body.data).toEqual([]);
    const canceled = await send('POST', `/${id}/cancel`, { reason: 'too early' });
    expect([canceled.status, canceled.body.state]).toEqual([200, 'canceled']);
    const audit = await readAudit(rooms.database, context.tenant.id);
    expect(audit.at(-1)).toMatchObject({
      action: 'agent.key.rotation.canceled',
      actor_kind: 'application',
      target_id: id,
      data: { reason: 'too early' },
    });
  });

  it('follows what its keys go through', async () => {
    const { context, send, request, next, root, token } = await prepare();
    const { body } = await send('POST', '', request);
    await rooms.challenges.verify(context, answer(await ask(rooms, context, next.fingerprint), next));
    const read = async () => (await send('GET', `/${body.rotation_id}`)).body;
    await vi.waitUntil(async () => (await read()).state === 'overlapping', PATIENCE);
    expect(await read()).toMatchObject({
      switched_at: expect.any(String),
      sunset_at: expect.any(String),
    });
    expect((await send('POST', `/${body.rotation_id}/cancel`)).body.error).toBe('conflict');
    const keys = root.replace('/rotations', '');
    await server.send('POST', `${keys}/${body.old_key_id}/revoke`, token, {});
    expect(await read()).toMatchObject({ state: 'completed', end_reason: 'old_key_revoked' });
  });

  it.each([
    [{ algorithm: 'rsa' }, 400, 'invalid_request'],
    [{ public_key: 'no key' }, 400, 'invalid_request'],
    [{ old_key_id: 'no id' }, 400, 'invalid_request'],
    [{ old_key_id: newId() }, 400, 'invalid_request'],
    [{ overlap_seconds: 0 }, 400, 'invalid_request'],
    [{ deadline_seconds: 1.5 }, 400, 'invalid_request'],
    [{ proof: 'AAAA' }, 400, 'invalid_request'],
  ])('is refused with %j', async (changes, status, error) => {
    const { send, request } = await prepare();
    const refused = await send('POST', '', { ...request, ...changes });
    expect([refused.status, refused.body.error]).toEqual([status, error]);
    expect((await send('GET', '')).body.data).toEqual([]);
  });

  it('is not taken for a key, nor a key for it', async () => {
    const { agent, key, root, token, send } = await prepare();
    expect((await send('GET', `/${key.id}`)).status).toBe(404);
    expect((await send('GET', `/${newId()}`)).status).toBe(404);
    const keys = root.replace('/rotations', '');
    expect((await server.send('GET', `${keys}/${key.id}`, token)).body.key_id).toBe(key.id);
    expect((await server.send('GET', keys, token)).body.data).toHaveLength(1);
    expect((await send('DELETE', '')).headers.get('allow')).toMatch(/GET/);
    const elsewhere = `${root.replace(agent.id, newId())}`;
    expect((await server.send('GET', elsewhere, token)).status).toBe(404);
  });
});

describe('a rotation by the agent itself', () => {
  async function prepareOwn() {
    const one = await prepare();
    const { context, agent, key, next, request } = one;
    const token = await one.issue({ sub: agent.id, clientId: 'service-agent', scopes: ['openid'] });
    const sign = (signer: Signer, changes: object = {}) =>
      signPayload(
        signer.algorithm,
        signer.privateKey,
        buildRotationProofPayload({
          tenantId: context.tenant.id,
          agentId: agent.id,
          oldFingerprint: key.fingerprint,
          newFingerprint: next.fingerprint,
          ...changes,
        }),
      );
    const proof = { old_key: sign(one), new_key: sign(next) };
    const rotate = (body: unknown, by = token) =>
      server.send('POST', `${context.tenant.issuerUrl}/auth/agent/keys/rotate`, by, body);
    return { ...one, token, sign, body: { ...request, proof }, proof, rotate };
  }

  it('takes proofs by both keys, verifies the new one immediately, and waits for its use all the same', async () => {
    const { context, agent, body, rotate, next } = await prepareOwn();
    const accepted = await rotate(body);
    expect([accepted.status, accepted.body.state]).toEqual([202, 'waiting_for_switch']);
    const key = await rooms.keys.get(context, agent.id, accepted.body.new_key_id);
    expect(key).toMatchObject({ state: 'active', lastUsedAt: null, verifiedAt: expect.any(Date) });
    expect((await readAudit(rooms.database, context.tenant.id)).at(-1)).toMatchObject({
      action: 'agent.key.rotation.started',
      actor_kind: 'agent',
      actor_id: agent.id,
    });
    await rooms.challenges.verify(context, answer(await ask(rooms, context, next.fingerprint), next));
    const read = () => rooms.rotations.get(context, agent.id, accepted.body.rotation_id);
    await vi.waitUntil(async () => (await read()).state === 'overlapping', PATIENCE);
    const log = await readAudit(rooms.database, context.tenant.id);
    expect(log.filter(({ action }) => action === 'agent.key.verified')).toHaveLength(1);
  });

  it('may name the old key by its fingerprint, but by one name only', async () => {
    const { body, key, rotate } = await prepareOwn();
    const { old_key_id: _, ...rest } = body;
    for (const wrong of [rest, { ...body, old_key_fingerprint: key.fingerprint }])
      expect((await rotate(wrong)).status).toBe(400);
    expect((await rotate({ ...rest, old_key_fingerprint: 'f'.repeat(64) })).body.errors).toEqual([
      { path: 'body.old_key_fingerprint', message: expect.any(String) },
    ]);
    expect((await rotate({ ...rest, old_key_fingerprint: key.fingerprint })).status).toBe(202);
  });

  it('refuses a proof by another key, over other keys, agents or tenants, and the proofs of the two keys swapped', async () => {
    const one = await prepareOwn();
    const { body, proof, sign, next, rotate } = one;
    const stranger = newKeyPair();
    const wrong: [Partial<typeof proof>, string][] = [
      [{ old_key: sign(stranger) }, 'old_key'],
      [{ new_key: sign(stranger) }, 'new_key'],
      [{ old_key: proof.new_key, new_key: proof.old_key }, 'old_key'],
      [{ old_key: 'AAAA' }, 'old_key'],
      [{ old_key: sign(one, { newFingerprint: stranger.fingerprint }) }, 'old_key'],
      [{ new_key: sign(next, { oldFingerprint: stranger.fingerprint }) }, 'new_key'],
      [{ old_key: sign(one, { agentId: newId() }) }, 'old_key'],
      [{ new_key: sign(next, { tenantId: newId() }) }, 'new_key'],
    ];
    for (const [changes, name] of wrong) {
      const refused = await rotate({ ...body, proof: { ...proof, ...changes } });
      expect([refused.status, refused.body.errors?.[0].path]).toEqual([400, `body.proof.${name}`]);
    }
    expect((await rotate(body)).status).toBe(202);
    expect((await rotate(body)).body.error).toBe('conflict');
  });

  it('is refused when the agent was suspended after its token was looked at', async () => {
    const { context, agent, body, proof, next } = await prepareOwn();
    const principal = {
      kind: 'agent',
      subject: agent.id,
      agentId: agent.id,
      clientId: 'service-agent',
      tokenId: newId(),
      scopes: [],
    } as const;
    await rooms.agents.suspend(context, agent.id);
    const late = rooms.rotations.beginOwn({ ...context, principal }, agent.id, {
      ...next,
      oldKey: { id: body.old_key_id },
      proof: { oldKey: proof.old_key, newKey: proof.new_key },
    });
    await expect(late).rejects.toMatchObject({ code: 'policy_denied' });
    expect(await rooms.rotations.list(context, agent.id, { limit: 1 })).toMatchObject({ data: [] });
  });

  it('takes no token of an application, linked to the agent or not, nor of another agent for its keys', async () => {
    const { agent, body, issue, rotate } = await prepareOwn();
    const other = await prepareOwn();
    expect((await rotate(body, other.token)).status).toBe(401);
    const clientId = newId();
    for (const sub of [agent.id, clientId]) {
      const refused = await rotate(body, await issue({ sub, clientId, scopes: ['agents:write'] }));
      expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope']);
    }
    expect((await rotate(body, '')).status).toBe(401);
    const { agent: neighbour } = await createTestAgent(rooms, other.context);
    const theirs = await other.issue({ sub: neighbour.id, clientId: 'service-agent', scopes: ['openid'] });
    expect((await other.rotate(other.body, theirs)).body.errors).toEqual([
      { path: 'body.old_key_id', message: 'is no key of this agent' },
    ]);
  });
});
