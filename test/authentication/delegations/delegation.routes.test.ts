// The management routes of delegations over HTTP: what the shell and this room make of a request together.
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createDelegationRooms } from './delegation-rooms.ts';

const admin = {
  authorization: `Bearer ${tokenFor('admin', 'agents:write', 'agents:capabilities', 'agents:impersonate', 'delegations:read', 'delegations:write')}`,
};
const reader = { authorization: `Bearer ${tokenFor('reader', 'delegations:read')}` };

const { database } = await useTestDatabase();
const rooms = createDelegationRooms(database);
await rooms.tenants.create({ slug: 'demo' });
await rooms.tenants.create({ slug: 'acme' });
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants });
const agentId = (await server.send('POST', '/api/v1/agents', { name: 'Robot' }, admin)).body.id;
afterAll(() => server.drain(0));

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = admin) =>
  server.send(method, `/api/v1/delegations${path}`, body, headers);
const soon = () => new Date(Date.now() + 60_000).toISOString();
const subject = { issuer: 'https://idp.example', sub: 'ada' };
const newBody = () => ({ subject, agent_id: agentId, scopes: ['openid'], expires_at: soon() });

describe('a delegation over HTTP', () => {
  it('has the fields of the interface, and is read as it was created', async () => {
    const body = newBody();
    const created = await send('POST', '', body);
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(
      `http://localhost:8080/api/v1/delegations/${created.body.id}`,
    );
    expect(created.body).toEqual({
      id: expect.any(String),
      subject: { ...subject, id: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      agent_id: agentId,
      scopes: ['openid'],
      audience: null,
      status: 'active',
      expires_at: body.expires_at,
      created_at: expect.any(String),
      revoked_at: null,
      revoked_reason: null,
    });
    expect((await send('GET', `/${created.body.id}`)).body).toEqual(created.body);
    const query = `?agent_id=${agentId}&status=active&subject_issuer=${encodeURIComponent(subject.issuer)}&subject_sub=ada&limit=1`;
    expect((await send('GET', query)).body).toEqual({ data: [created.body], next_cursor: null });
  });

  it('takes an end with an offset', async () => {
    const created = await send('POST', '', { ...newBody(), expires_at: soon().replace('Z', '+00:00') });
    expect(created.status).toBe(201);
  });

  it('is created once for one idempotency key, whose kept answer does not name the user', async () => {
    const headers = { ...admin, 'idempotency-key': newId() };
    const body = { ...newBody(), subject: { ...subject, sub: 'once' } };
    const first = await send('POST', '', body, headers);
    const replay = await send('POST', '', body, headers);
    const { subject: _, ...kept } = first.body;
    expect([replay.status, replay.body]).toEqual([201, kept]);
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    expect((await send('POST', '', { ...body, scopes: ['email'] }, headers)).status).toBe(422);
    const query = `?subject_issuer=${encodeURIComponent(subject.issuer)}&subject_sub=once`;
    expect((await send('GET', query)).body.data).toHaveLength(1);
    const half = await send('GET', '?subject_sub=once');
    expect([half.status, half.body.detail]).toEqual([400, expect.stringContaining('subject_issuer')]);
  });

  it('is revoked, and again without effect', async () => {
    const { id } = (await send('POST', '', newBody())).body;
    const revoked = await send('POST', `/${id}/revoke`, { reason: 'why' });
    expect([revoked.status, revoked.body]).toMatchObject([200, { status: 'revoked', revoked_reason: 'why' }]);
    expect((await send('POST', `/${id}/revoke`)).body).toEqual(revoked.body);
    expect((await send('GET', `/${id}`)).body).toEqual(revoked.body);
  });

  it.each([
    ['subject', { subject: undefined }],
    ['subject', { subject: 'ada' }],
    ['subject.sub', { subject: { issuer: subject.issuer, sub: '' } }],
    ['subject.sub', { subject: { issuer: subject.issuer, sub: 'a\u0000' } }],
    ['subject.issuer', { subject: { issuer: 'urn:x', sub: 'a' } }],
    ['agent_id', { agent_id: 'robot' }],
    ['agent_id', { agent_id: newId() }],
    ['scopes', { scopes: [] }],
    ['scopes', { scopes: ['openid', 'openid'] }],
    ['scopes.0', { scopes: ['agents:write'] }],
    ['audience', { audience: 'a b' }],
    ['expires_at', { expires_at: 'tomorrow' }],
    ['expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
    ['expires_at', { expires_at: '9999-12-31T23:59:59Z' }],
    ['colour', { colour: 'red' }],
  ])('is refused naming %s for %j', async (path, change) => {
    const answer = await send('POST', '', { ...newBody(), ...change });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([`body.${path}`]);
  });

  it.each([
    ['GET', '/not-a-uuid', 404],
    ['GET', `/${newId()}`, 404],
    ['POST', `/${newId()}/revoke`, 404],
    ['GET', '?status=old', 400],
    ['GET', '?cursor=x', 400],
    ['GET', '?colour=red', 400],
  ])('%s %s is answered with %i', async (method, path, status) => {
    expect((await send(method, path)).status).toBe(status);
  });

  it('needs a token of the tenant with the scope of the route', async () => {
    const { id } = (await send('POST', '', newBody())).body;
    expect((await server.send('GET', '/api/v1/delegations')).status).toBe(401);
    expect((await send('GET', '', undefined, reader)).status).toBe(200);
    expect((await send('POST', '', newBody(), reader)).status).toBe(403);
    expect((await send('POST', `/${id}/revoke`, {}, reader)).status).toBe(403);
    const elsewhere = await server.send('GET', `/t/acme/api/v1/delegations/${id}`, undefined, admin);
    expect([elsewhere.status, elsewhere.body.error]).toEqual([404, 'not_found']);
  });
});
