// Anchors over HTTP, with the real database: their life, what the audit log says of it, and what they mean for an
// agent's registration.
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createRooms, readAudit } from '../agents/agent-rooms.ts';

const admin = {
  authorization: `Bearer ${tokenFor('admin', 'agents:read', 'agents:write', 'agents:capabilities', 'agents:impersonate')}`,
};
const reader = { authorization: `Bearer ${tokenFor('reader', 'agents:read')}` };

const { database } = await useTestDatabase();
const rooms = createRooms(database);
const { tenant_id: tenantId } = await rooms.provisioning.provision({ slug: 'demo' });
await rooms.tenants.create({ slug: 'acme' });
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants });
afterAll(() => server.drain(0));

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = admin) =>
  server.send(method, `/api/v1/agents${path}`, body, headers);
const newAgent = async (scopes = ['openid']): Promise<string> =>
  (await send('POST', '', { name: 'Robot', scopes })).body.id;
const body = { type: 'domain_https', value: 'example.com' };
const entriesOf = async (id: string) =>
  (await readAudit(database, tenantId)).filter(({ target_id }) => target_id === id);
const expire = (id: string) =>
  database.query(
    `UPDATE anchors SET created_at = created_at - interval '8 days', expires_at = expires_at - interval '8 days' WHERE id = $1`,
    [id],
  );
/** What a verification does: the row and the entry of the audit log. */
const verify = async (id: string) => {
  await database.query("UPDATE anchors SET status = 'verified', verified_at = now() WHERE id = $1", [id]);
  await rooms.records.write(
    database,
    { requestId: newId(), address: 'local', tenant: { id: tenantId } },
    { audit: [{ action: 'agent.anchor.verified', outcome: 'success', target: { type: 'anchor', id } }] },
  );
};

describe('an anchor over HTTP', () => {
  it('has the fields of the interface, and is read and listed as it was created', async () => {
    const agentId = await newAgent();
    const created = await send('POST', `/${agentId}/anchors`, {
      type: 'domain_dns',
      value: 'BÜCHER.Example.',
    });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.any(String),
      anchor_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      agent_id: agentId,
      type: 'domain_dns',
      value: 'xn--bcher-kva.example',
      status: 'pending',
      proof: expect.stringMatching(/^countersign-anchor=[A-Za-z0-9_-]{43}$/),
      expires_at: expect.any(String),
      verified_at: null,
      revoked_at: null,
      created_at: expect.any(String),
      last_checked_at: null,
      last_error: null,
      missing_since: null,
      next_check_at: expect.any(String),
    });
    const path = `/${agentId}/anchors/${created.body.anchor_id}`;
    expect(created.headers.get('location')).toBe(`http://localhost:8080/api/v1/agents${path}`);
    const lifetime = Date.parse(created.body.expires_at) - Date.parse(created.body.created_at);
    expect(lifetime).toBe(7 * 24 * 3_600_000);
    expect((await send('GET', path)).body).toEqual(created.body);
    expect((await send('GET', `/${agentId}/anchors`, undefined, reader)).body).toEqual({
      data: [created.body],
      next_cursor: null,
    });
    expect(await entriesOf(created.body.anchor_id)).toMatchObject([
      {
        action: 'agent.anchor.created',
        outcome: 'success',
        actor_id: expect.stringContaining('admin'),
        target_type: 'anchor',
        data: { agent_id: agentId, type: 'domain_dns', value: 'xn--bcher-kva.example' },
      },
    ]);
  });

  it('has a proof of its own each time', async () => {
    const proofs = await Promise.all(
      [await newAgent(), await newAgent()].map(
        async (id) => (await send('POST', `/${id}/anchors`, body)).body.proof,
      ),
    );
    expect(new Set(proofs).size).toBe(2);
  });

  it('is created once for one idempotency key', async () => {
    const agentId = await newAgent();
    const headers = { ...admin, 'idempotency-key': newId() };
    const first = await send('POST', `/${agentId}/anchors`, body, headers);
    const replay = await send('POST', `/${agentId}/anchors`, body, headers);
    expect([replay.status, replay.body]).toEqual([201, first.body]);
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    const other = await send('POST', `/${agentId}/anchors`, { ...body, value: 'example.org' }, headers);
    expect([other.status, other.body.error]).toEqual([422, 'idempotency_key_reused']);
  });

  it('lives once for an agent, a type and a value, also when many ask together', async () => {
    const agentId = await newAgent();
    const answers = await Promise.all(
      ['example.com', 'EXAMPLE.com', 'example.com.', 'example.com'].map((value) =>
        send('POST', `/${agentId}/anchors`, { ...body, value }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.error).toBe('conflict');
    expect((await send('POST', `/${agentId}/anchors`, { ...body, type: 'domain_dns' })).status).toBe(201);
    expect((await send('POST', `/${await newAgent()}/anchors`, body)).status).toBe(201);
    const [created] = answers.filter(({ status }) => status === 201);
    await verify(created?.body.anchor_id);
    expect((await send('POST', `/${agentId}/anchors`, body)).status).toBe(409);
    await send('POST', `/${agentId}/anchors/${created?.body.anchor_id}/revoke`);
    expect((await send('POST', `/${agentId}/anchors`, body)).status).toBe(201);
  });

  it('fails by itself when its proof was not found in time, and makes room for another', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    await expire(id);
    expect((await send('GET', `/${agentId}/anchors/${id}`)).body.status).toBe('failed');
    expect((await send('GET', `/${agentId}/anchors?status=pending`)).body.data).toEqual([]);
    const next = await send('POST', `/${agentId}/anchors`, body);
    expect(next.status).toBe(201);
    expect((await entriesOf(id)).map(({ action }) => action)).toEqual([
      'agent.anchor.created',
      'agent.anchor.failed',
    ]);
    const list = (await send('GET', `/${agentId}/anchors`)).body.data;
    expect(list.map((anchor: { status: string }) => anchor.status)).toEqual(['pending', 'failed']);
  });

  it.each([
    ['type', { ...body, type: 'domain_smtp' }],
    ['type', { value: 'example.com' }],
    ['value', { type: 'domain_dns' }],
    ['value', { ...body, value: 7 }],
    ['value', { ...body, value: '' }],
    ['value', { ...body, value: '127.0.0.1' }],
    ['value', { ...body, value: 'localhost' }],
    ['value', { ...body, value: 'https://example.com/' }],
    ['value', { ...body, value: `${'a.'.repeat(600)}com` }],
    ['colour', { ...body, colour: 'red' }],
  ])('is refused naming %s for %j', async (path, sent) => {
    const answer = await send('POST', `/${await newAgent()}/anchors`, sent);
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([`body.${path}`]);
  });

  it('pages, and filters by type and status', async () => {
    const agentId = await newAgent();
    const made: string[] = [];
    for (const type of ['domain_https', 'domain_dns', 'domain_https'])
      made.unshift(
        (await send('POST', `/${agentId}/anchors`, { type, value: `a${made.length}.example` })).body
          .anchor_id,
      );
    const idsOf = (page: { data: { anchor_id: string }[] }) => page.data.map((anchor) => anchor.anchor_id);
    const first = (await send('GET', `/${agentId}/anchors?limit=2`)).body;
    expect(idsOf(first)).toEqual(made.slice(0, 2));
    const second = (await send('GET', `/${agentId}/anchors?limit=2&cursor=${first.next_cursor}`)).body;
    expect([idsOf(second), second.next_cursor]).toEqual([made.slice(2), null]);
    await verify(made[0] ?? '');
    expect(idsOf((await send('GET', `/${agentId}/anchors?type=domain_https&status=pending`)).body)).toEqual([
      made[2],
    ]);
    expect(idsOf((await send('GET', `/${agentId}/anchors?status=verified`)).body)).toEqual([made[0]]);
    for (const query of ['?status=old', '?type=x', '?cursor=x', '?limit=0', '?value=x'])
      expect((await send('GET', `/${agentId}/anchors${query}`)).status).toBe(400);
  });
});

describe('a look on request', () => {
  it('is due within seconds, told with the anchor, and audited', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    await database.query(
      "UPDATE anchors SET next_check_at = now() + interval '1 hour', last_checked_at = now(), last_outcome = 'http:404' WHERE id = $1",
      [id],
    );
    const answer = await send('POST', `/${agentId}/anchors/${id}/check`);
    expect([answer.status, answer.body]).toMatchObject([202, { status: 'pending', last_error: 'http:404' }]);
    expect(Date.parse(answer.body.next_check_at) - Date.parse(answer.body.last_checked_at)).toBe(5_000);
    expect((await entriesOf(id)).at(-1)).toMatchObject({ action: 'agent.anchor.check_requested' });
    const { rows } = await database.query('SELECT workflow FROM workflow_commands WHERE entity_id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ workflow: 'anchorVerification' }, { workflow: 'anchorVerification' }]);
  });

  it('needs a living anchor of that agent, and the scope', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    const path = `/${agentId}/anchors/${id}/check`;
    expect((await send('POST', path, undefined, reader)).status).toBe(403);
    expect((await send('POST', path, { reason: 'x' })).status).toBe(400);
    expect((await send('POST', `/${await newAgent()}/anchors/${id}/check`)).status).toBe(404);
    await expire(id);
    const answer = await send('POST', path);
    expect([answer.status, answer.body.error]).toEqual([409, 'conflict']);
    expect((await send('GET', `/${agentId}/anchors/${id}`)).body).toMatchObject({
      status: 'failed',
      next_check_at: null,
    });
  });
});

describe('the revocation of an anchor', () => {
  it.each(['pending', 'verified'])('ends a %s one, and again nothing happens', async (status) => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    if (status === 'verified') await verify(id);
    const revoked = await send('POST', `/${agentId}/anchors/${id}/revoke`, { reason: 'sold' });
    expect([revoked.status, revoked.body]).toMatchObject([
      200,
      { anchor_id: id, status: 'revoked', revoked_at: expect.any(String) },
    ]);
    expect((await send('POST', `/${agentId}/anchors/${id}/revoke`)).body).toEqual(revoked.body);
    const entries = (await entriesOf(id)).filter(({ action }) => action === 'agent.anchor.revoked');
    expect(entries).toMatchObject([{ data: { was: status, reason: 'sold', value: 'example.com' } }]);
  });

  it('leaves a failed one as it is', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    await expire(id);
    const answer = await send('POST', `/${agentId}/anchors/${id}/revoke`);
    expect([answer.status, answer.body.status, answer.body.revoked_at]).toEqual([200, 'failed', null]);
    expect((await entriesOf(id)).map(({ action }) => action)).toEqual(['agent.anchor.created']);
  });

  it('needs an anchor of that agent and tenant, and the scope', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    const path = `/${agentId}/anchors/${id}`;
    expect((await send('POST', `/${await newAgent()}/anchors/${id}/revoke`)).status).toBe(404);
    expect((await send('GET', `/${await newAgent()}/anchors/${id}`)).status).toBe(404);
    expect((await send('POST', `/${agentId}/anchors/${newId()}/revoke`)).status).toBe(404);
    expect((await send('POST', `/${newId()}/anchors`, body)).status).toBe(404);
    expect((await send('GET', `/${newId()}/anchors`)).status).toBe(404);
    expect((await send('POST', `${path}/revoke`, {}, reader)).status).toBe(403);
    expect((await send('POST', `/${agentId}/anchors`, body, reader)).status).toBe(403);
    const elsewhere = await server.send('GET', `/t/acme/api/v1/agents${path}`, undefined, admin);
    expect([elsewhere.status, elsewhere.body.error]).toEqual([404, 'not_found']);
    expect((await send('GET', path)).body.status).toBe('pending');
  });
});

describe('an agent with an anchor', () => {
  const registrationOf = async (id: string) => (await send('GET', `/${id}`)).body.registration;

  it('is completely registered by a verified anchor alone, as long as that lives', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    expect(await registrationOf(agentId)).toMatchObject({ complete: false, verified: false, audited: false });
    await verify(id);
    expect(await registrationOf(agentId)).toEqual({
      complete: true,
      active: true,
      verified: true,
      scoped: true,
      audited: true,
    });
    await send('POST', `/${agentId}/anchors/${id}/revoke`);
    expect(await registrationOf(agentId)).toMatchObject({ complete: false, verified: false, audited: false });
  });

  it('is not audited when the audit log does not know of the verification', async () => {
    const agentId = await newAgent();
    const { anchor_id: id } = (await send('POST', `/${agentId}/anchors`, body)).body;
    await database.query("UPDATE anchors SET status = 'verified', verified_at = now() WHERE id = $1", [id]);
    expect(await registrationOf(agentId)).toMatchObject({ complete: false, verified: true, audited: false });
  });

  it('takes its anchors with it when it is deleted', async () => {
    const agentId = await newAgent();
    const pending = (await send('POST', `/${agentId}/anchors`, body)).body.anchor_id;
    const failed = (await send('POST', `/${agentId}/anchors`, { ...body, type: 'domain_dns' })).body
      .anchor_id;
    await expire(failed);
    expect((await send('DELETE', `/${agentId}`)).status).toBe(204);
    expect((await send('GET', `/${agentId}/anchors/${pending}`)).status).toBe(404);
    expect((await send('GET', `/${agentId}/anchors`)).status).toBe(404);
    expect((await send('POST', `/${agentId}/anchors/${pending}/revoke`)).status).toBe(404);
    const { rows } = await database.query<{ id: string; status: string }>(
      'SELECT id, status FROM anchors WHERE agent_id = $1 ORDER BY id',
      [agentId],
    );
    expect(rows).toEqual([
      { id: pending, status: 'revoked' },
      { id: failed, status: 'pending' },
    ]);
  });

  it('is one of at most 50 that an agent has; one that ended makes room', async () => {
    const agentId = await newAgent();
    await database.query(
      `INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, expires_at, next_check_at)
       SELECT gen_random_uuid(), $1, $2, 'domain_dns', 'd' || n || '.example', 'countersign-anchor=' || n, now() + interval '7 days', now()
       FROM generate_series(1, 49) AS n`,
      [tenantId, agentId],
    );
    const last = await send('POST', `/${agentId}/anchors`, body);
    expect(last.status).toBe(201);
    const refused = await send('POST', `/${agentId}/anchors`, { ...body, value: 'more.example' });
    expect([refused.status, refused.body.code ?? refused.body.error]).toEqual([409, 'conflict']);
    await send('POST', `/${agentId}/anchors/${last.body.anchor_id}/revoke`, {});
    expect((await send('POST', `/${agentId}/anchors`, { ...body, value: 'more.example' })).status).toBe(201);
  });
});
