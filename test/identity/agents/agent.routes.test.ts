// The management routes of agents and keys over HTTP: what the shell and these rooms make of a request together.
import { afterAll, describe, expect, it } from 'vitest';
import { toJwk } from '../../../src/platform/crypto/public-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { derivePublicKey, generatePrivateKey } from '../../platform/crypto/sign.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createRooms } from './agent-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database);
await rooms.tenants.create({ slug: 'demo' });
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants });
afterAll(() => server.drain(0));

const admin = {
  authorization: `Bearer ${tokenFor('admin', 'agents:read', 'agents:write', 'agents:capabilities', 'agents:impersonate')}`,
};
const reader = { authorization: `Bearer ${tokenFor('reader', 'agents:read')}` };
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  server.send(method, `/api/v1/agents${path}`, body, { ...admin, ...headers });
const newKey = () => toJwk(derivePublicKey('ed25519', generatePrivateKey('ed25519')));

describe('an agent over HTTP', () => {
  it('has the fields of the interface, and is read as it was created', async () => {
    const created = await send('POST', '', { name: 'Robot', description: 'd', capabilities: ['web', 'mcp'] });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Robot',
      description: 'd',
      owner: null,
      purpose: null,
      capabilities: ['web', 'mcp'],
      status: 'active',
      audience: 'http://localhost:8080',
      audiences: [],
      scopes: ['openid', 'profile', 'email', 'offline_access', 'wallet:sign', 'vault:read'],
      metadata: {},
      dpop_bound_access_tokens: false,
      open_enrollment_tokens: 0,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: created.body.created_at,
      registration: { complete: false, active: true, verified: false, scoped: false, audited: false },
    });
    expect((await send('GET', `/${created.body.id}`)).body).toEqual(created.body);
    const list = await send('GET', '?limit=1');
    expect(list.body).toEqual({ data: [created.body], next_cursor: null });
  });

  it('says who answers for it and why it exists, until that is taken back', async () => {
    const stated = { owner: 'purchasing@example.com', purpose: 'Orders\noffice supplies' };
    const { body } = await send('POST', '', { name: 'Robot', ...stated });
    expect(body).toMatchObject(stated);
    const changed = await send('PATCH', `/${body.id}`, { owner: 'facilities@example.com' });
    expect(changed.body).toMatchObject({ ...stated, owner: 'facilities@example.com' });
    await send('PATCH', `/${body.id}`, { owner: null, purpose: null });
    expect((await send('GET', `/${body.id}`)).body).toMatchObject({ owner: null, purpose: null });
  });

  it('may be sent back as it was read, with one field changed', async () => {
    const { body } = await send('POST', '', { name: 'Robot' });
    const changed = await send('PATCH', `/${body.id}`, { ...body, name: 'Android' });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ id: body.id, name: 'Android', status: 'active' });
    const unknown = await send('PATCH', `/${body.id}`, { colour: 'red' });
    expect([unknown.status, unknown.body.errors]).toEqual([
      400,
      [{ path: 'body.colour', message: expect.any(String) }],
    ]);
    expect((await send('PATCH', `/${body.id}`)).body).toEqual(changed.body);
  });

  it('is created once for one idempotency key', async () => {
    const headers = { 'idempotency-key': newId() };
    const first = await send('POST', '', { name: 'Once' }, headers);
    const replay = await send('POST', '', { name: 'Once' }, headers);
    expect(replay.status).toBe(201);
    expect(replay.body).toEqual(first.body);
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    expect(replay.headers.get('location')).toBe(first.headers.get('location'));
    expect((await send('POST', '', { name: 'Twice' }, headers)).status).toBe(422);
    const { body } = await send('GET', '?name=Once');
    expect(body.data).toHaveLength(1);
  });

  it('is gone after its deletion', async () => {
    const { body } = await send('POST', '', { name: 'Robot' });
    const deleted = await send('DELETE', `/${body.id}`);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['PATCH', '/suspend'],
      ['GET', '/keys'],
    ] as const)
      expect((await send(method, `/${body.id}${path}`)).status).toBe(404);
  });

  it.each([
    ['POST', '', { name: '' }, 400],
    ['POST', '', { name: 'R', scopes: ['agents:write'] }, 400],
    ['GET', '?limit=0', undefined, 400],
    ['GET', '?limit=201', undefined, 400],
    ['GET', '?status=sleeping', undefined, 400],
    ['GET', '?cursor=x', undefined, 400],
    ['GET', '/not-a-uuid', undefined, 404],
    ['GET', `/${newId()}`, undefined, 404],
    ['PATCH', `/${newId()}/suspend`, undefined, 404],
    ['POST', `/${newId()}/keys`, { algorithm: 'ed25519', public_key: 'x' }, 404],
    ['POST', `/${newId()}/keys/${newId()}/revoke`, {}, 404],
  ])('%s %s with %j is answered with %i', async (method, path, body, status) => {
    expect((await send(method, path, body)).status).toBe(status);
  });

  it('needs a token with the scope of the route', async () => {
    expect((await server.send('GET', '/api/v1/agents')).status).toBe(401);
    expect((await send('GET', '', undefined, reader)).status).toBe(200);
    const refused = await send('POST', '', { name: 'Robot' }, reader);
    expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope']);
  });
});

describe('a key over HTTP', () => {
  it('is registered once, listed, read and revoked', async () => {
    const agent = (await send('POST', '', { name: 'Robot' })).body;
    const body = { algorithm: 'ed25519', public_key: newKey() };
    const made = await send('POST', `/${agent.id}/keys`, body, { 'idempotency-key': 'register-1' });
    expect(made.status).toBe(201);
    const replay = await send('POST', `/${agent.id}/keys`, body, { 'idempotency-key': 'register-1' });
    expect([replay.status, replay.body]).toEqual([201, made.body]);
    const again = await send('POST', `/${agent.id}/keys`, body);
    expect([again.status, again.body.error]).toEqual([409, 'key_exists']);
    const path = `/${agent.id}/keys/${made.body.key_id}`;
    expect((await send('GET', path)).body).toEqual(made.body);
    expect((await send('GET', `/${agent.id}/keys`)).body).toEqual({ data: [made.body], next_cursor: null });
    const revoked = await send('POST', `${path}/revoke`);
    expect([revoked.status, revoked.body]).toEqual([200, { ...made.body, state: 'revoked' }]);
    expect((await send('POST', `${path}/revoke`, { reason: 'x' })).body).toEqual(revoked.body);
    const late = await send('POST', `${path}/deprecate`, {});
    expect([late.status, late.body.error]).toEqual([409, 'conflict']);
  });

  it.each([
    [{ public_key: 'x' }, 'body.algorithm'],
    [{ algorithm: 'rsa', public_key: 'x' }, 'body.algorithm'],
    [{ algorithm: 'ed25519' }, 'body.public_key'],
    [{ algorithm: 'ed25519', public_key: 7 }, 'body.public_key'],
    [{ algorithm: 'ed25519', public_key: 'not a key' }, 'body.public_key'],
    [
      { algorithm: 'ed25519', public_key: { kty: 'OKP', crv: 'Ed25519', x: 'AA', d: 'AA' } },
      'body.public_key',
    ],
    [{ algorithm: 'es256', public_key: newKey() }, 'body.public_key'],
    [{ algorithm: 'ed25519', public_key: newKey(), proof: 'AAAA' }, 'body.proof'],
    [{ algorithm: 'ed25519', public_key: newKey(), label: '' }, 'body.label'],
  ])('is refused as %j, naming %s', async (body, path) => {
    const agent = (await send('POST', '', { name: 'Robot' })).body;
    const answer = await send('POST', `/${agent.id}/keys`, body);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([path]);
  });
});
