// The management routes of trusted issuers over HTTP: what the shell and this room make of a request together.
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createDelegationRooms } from '../delegations/delegation-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createDelegationRooms(database, { allowedNetworks: [] });
await rooms.tenants.create({ slug: 'demo' });
await rooms.tenants.create({ slug: 'acme' });
const server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants });
afterAll(() => server.drain(0));

const admin = { authorization: `Bearer ${tokenFor('admin', 'delegations:read', 'delegations:write')}` };
const reader = { authorization: `Bearer ${tokenFor('reader', 'delegations:read')}` };
const PATH = '/api/v1/trusted-issuers';
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = admin) =>
  server.send(method, `${PATH}${path}`, body, headers);
let number = 0;
const newIssuer = () => `https://idp-${++number}.example`;
const newBody = () => ({
  issuer: newIssuer(),
  jwks_uri: 'https://idp.example/jwks',
  audiences: ['https://id.example'],
});
const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'a' };

describe('a trusted issuer over HTTP', () => {
  it('is read as it was created', async () => {
    const body = newBody();
    const created = await send('POST', '', body);
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`http://localhost:8080${PATH}/${created.body.id}`);
    expect(created.body).toEqual({
      ...body,
      id: expect.any(String),
      jwks: null,
      last_fetch: null,
      created_at: expect.any(String),
      updated_at: created.body.created_at,
    });
    expect((await send('GET', `/${created.body.id}`)).body).toEqual(created.body);
    const list = await send('GET', `?issuer=${encodeURIComponent(body.issuer)}`);
    expect(list.body).toEqual({ data: [created.body], next_cursor: null });
  });

  it('says what the latest fetch of its keys met', async () => {
    const { body } = await send('POST', '', newBody());
    const change =
      "UPDATE trusted_issuers SET fetched_at = '2026-01-02T03:04:05Z', fetch_error = $2 WHERE id = $1";
    const at = '2026-01-02T03:04:05.000Z';
    for (const error of ['no answer (dns:ENOTFOUND)', null]) {
      await database.query(change, [body.id, error]);
      expect((await send('GET', `/${body.id}`)).body).toEqual({ ...body, last_fetch: { at, error } });
    }
  });

  it('keeps the public members of inline keys, and nothing else', async () => {
    const body = {
      issuer: newIssuer(),
      jwks: { keys: [{ ...jwk, x5t: 'x', use: 'sig' }] },
      audiences: ['a'],
    };
    const created = await send('POST', '', body);
    expect(created.body).toMatchObject({ jwks_uri: null, jwks: { keys: [{ ...jwk, use: 'sig' }] } });
    expect(created.body.jwks.keys[0]).not.toHaveProperty('x5t');
    expect((await send('GET', `/${created.body.id}`)).body).toEqual(created.body);
  });

  it('is trusted once in a tenant, and once for one idempotency key', async () => {
    const body = newBody();
    const headers = { ...admin, 'idempotency-key': newId() };
    const first = await send('POST', '', body, headers);
    const replay = await send('POST', '', body, headers);
    expect([replay.status, replay.body]).toEqual([201, first.body]);
    const again = await send('POST', '', body);
    expect([again.status, again.body.error]).toEqual([409, 'conflict']);
    const races = await Promise.all(
      [1, 2, 3, 4].map(() => send('POST', '', { ...body, issuer: 'https://race.example' })),
    );
    expect(races.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
    expect((await server.send('POST', `/t/acme${PATH}`, body, admin)).status).toBe(201);
  });

  it('may be sent back as it was read; naming one source of keys replaces the other', async () => {
    const created = (await send('POST', '', newBody())).body;
    const path = `/${created.id}`;
    const changed = await send('PATCH', path, { ...created, audiences: ['b'] });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { jwks_uri: created.jwks_uri, audiences: ['b'] },
    ]);
    const inline = await send('PATCH', path, { jwks: { keys: [jwk] } });
    expect(inline.body).toMatchObject({ jwks_uri: null, jwks: { keys: [jwk] }, audiences: ['b'] });
    const fetched = await send('PATCH', path, { jwks_uri: 'https://idp.example/next' });
    expect(fetched.body).toMatchObject({ jwks_uri: 'https://idp.example/next', jwks: null });
    expect((await send('PATCH', path, {})).body).toMatchObject({ jwks_uri: 'https://idp.example/next' });
    for (const [field, body] of [
      ['jwks_uri', { jwks_uri: null }],
      ['jwks', { jwks_uri: 'https://idp.example/x', jwks: { keys: [jwk] } }],
      ['issuer', { issuer: 'https://changed.example' }],
      ['jwks_uri', { jwks_uri: 'https://127.0.0.1/' }],
    ] as const) {
      const refused = await send('PATCH', path, body);
      expect([refused.status, refused.body.errors?.[0]?.path]).toEqual([400, `body.${field}`]);
    }
    expect((await send('GET', path)).body).toEqual({ ...fetched.body, updated_at: expect.any(String) });
  });

  it('is deleted, and may be trusted anew', async () => {
    const body = newBody();
    const { id } = (await send('POST', '', body)).body;
    expect((await send('DELETE', `/${id}`)).status).toBe(204);
    expect((await send('GET', `/${id}`)).status).toBe(404);
    expect((await send('DELETE', `/${id}`)).status).toBe(404);
    expect((await send('POST', '', body)).status).toBe(201);
    const { rows } = await database.query<{ action: string }>(
      'SELECT action FROM audit_log WHERE target_id = $1 ORDER BY id',
      [id],
    );
    expect(rows.map(({ action }) => action)).toEqual(['trusted_issuer.created', 'trusted_issuer.deleted']);
  });

  it.each([
    ['issuer', { issuer: undefined }],
    ['issuer', { issuer: 'http://idp.example' }],
    ['issuer', { issuer: 'https://idp.example?x' }],
    ['issuer', { issuer: 'https://idp.example#x' }],
    ['issuer', { issuer: 'https://user@idp.example' }],
    ['issuer', { issuer: 'idp.example' }],
    ['audiences', { audiences: undefined }],
    ['audiences', { audiences: [] }],
    ['audiences', { audiences: ['a', 'a'] }],
    ['audiences.0', { audiences: ['a b'] }],
    ['jwks_uri', { jwks_uri: undefined }],
    ['jwks_uri', { jwks_uri: 'http://idp.example/jwks' }],
    ['jwks_uri', { jwks_uri: 'https://user:word@idp.example/jwks' }],
    ['jwks_uri', { jwks_uri: 'https://10.0.0.1/jwks' }],
    ['jwks_uri', { jwks_uri: 'https://[::1]/jwks' }],
    ['jwks_uri', { jwks_uri: 'https://0x7f000001/jwks' }],
    ['jwks_uri', { jwks_uri: 'https://localhost/jwks' }],
    ['jwks_uri', { jwks_uri: 'file:///etc/passwd' }],
    ['jwks', { jwks: { keys: [jwk] } }],
    ['jwks.keys', { jwks_uri: undefined, jwks: { keys: [] } }],
    ['jwks.keys', { jwks_uri: undefined, jwks: {} }],
    ['jwks', { jwks_uri: undefined, jwks: { keys: [jwk, jwk] } }],
    ['jwks.keys.0', { jwks_uri: undefined, jwks: { keys: [{ ...jwk, kty: 'oct' }] } }],
    ['jwks.keys.0', { jwks_uri: undefined, jwks: { keys: [{ ...jwk, x: 'A'.repeat(43) }] } }],
    ['colour', { colour: 'red' }],
  ])('is refused naming %s for %j', async (path, change) => {
    const answer = await send('POST', '', { ...newBody(), ...change });
    expect([answer.status, answer.body.error]).toEqual([400, 'invalid_request']);
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toEqual([`body.${path}`]);
  });

  it('is refused with a private key, which the answer does not repeat', async () => {
    const secret = pair.privateKey.export({ format: 'jwk' });
    const answer = await send('POST', '', { ...newBody(), jwks_uri: undefined, jwks: { keys: [secret] } });
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([
      { path: 'body.jwks.keys.0', message: expect.stringMatching(/private member .d./) },
    ]);
    expect(answer.text).not.toContain(secret.d);
  });

  it("is never the tenant's own issuer", async () => {
    await rooms.tenants.create({ slug: 'secure' });
    await database.query("UPDATE tenants SET issuer_url = 'https://secure.example' WHERE slug = 'secure'");
    const answer = await server.send(
      'POST',
      `/t/secure${PATH}`,
      { ...newBody(), issuer: 'https://secure.example' },
      admin,
    );
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'body.issuer']);
  });

  it.each([
    ['GET', '/not-a-uuid', 404],
    ['GET', `/${newId()}`, 404],
    ['PATCH', `/${newId()}`, 404],
    ['DELETE', `/${newId()}`, 404],
    ['GET', '?limit=0', 400],
    ['GET', '?cursor=x', 400],
  ])('%s %s is answered with %i', async (method, path, status) => {
    expect((await send(method, path)).status).toBe(status);
  });

  it('needs a token of the tenant with the scope of the route, and is unknown elsewhere', async () => {
    const { id } = (await send('POST', '', newBody())).body;
    expect((await server.send('GET', PATH)).status).toBe(401);
    expect((await send('GET', '', undefined, reader)).status).toBe(200);
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', `/${id}`],
      ['DELETE', `/${id}`],
    ] as const)
      expect((await send(method, path, method === 'DELETE' ? undefined : {}, reader)).status).toBe(403);
    for (const method of ['GET', 'PATCH', 'DELETE'])
      expect((await server.send(method, `/t/acme${PATH}/${id}`, undefined, admin)).status).toBe(404);
    expect((await send('GET', `/${id}`)).status).toBe(200);
  });
});
