// Streams of security events over HTTP, pushed to a receiver and polled; the tokens are read by jose with the published
// JWK Set.
import { decodeProtectedHeader } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../../workflows/delivery-engine.ts';
import {
  type Claims,
  CREDENTIAL_CHANGE,
  POLL,
  PUSH,
  SESSION_REVOKED,
  STREAM_UPDATED,
  startStreamRooms,
  VERIFICATION,
} from './stream-rooms.ts';

const rooms = await startStreamRooms();
afterAll(() => rooms.close());

const read = (token: string) => rooms.read(token);

const deliveryOf = async ({ jti }: Claims) =>
  (await rooms.owner.send('GET', `/api/v1/deliveries/${jti}`)).body;

/** The type of the event that a token tells. */
const eventOf = async (claims: Claims) => (await deliveryOf(claims)).event_type;

const received = (path: string) => rooms.receiver.of(path).map(({ body }) => body.toString());
const arrived = (path: string, count: number) =>
  eventually(() => rooms.receiver.of(path).length >= count && received(path), `${count} tokens at ${path}`);
const accepting = (path: string, status = 202) => rooms.receiver.answer(path, () => ({ status }));

/** A pushed stream. @returns its id */
async function push(path: string, fields: Record<string, unknown> = {}): Promise<string> {
  const { status, body, text } = await rooms.create({ delivery: rooms.pushTo(path), ...fields });
  if (status !== 201) throw new Error(text);
  return body.stream_id;
}

describe("a transmitter's configuration", () => {
  it('names its endpoints, at both addresses of a tenant below a path', async () => {
    const { owner } = rooms;
    const { status, body } = await owner.send('GET', '/.well-known/ssf-configuration', undefined, null);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      spec_version: '1_0',
      issuer: owner.credentials.issuer_url,
      jwks_uri: `${owner.credentials.issuer_url}/.well-known/ssf-jwks.json`,
      delivery_methods_supported: [PUSH, POLL],
      authorization_schemes: [{ spec_urn: 'urn:ietf:rfc:6749' }],
      default_subjects: 'ALL',
    });
    const { origin, pathname } = new URL(owner.credentials.issuer_url);
    const inserted = await fetch(`${origin}/.well-known/ssf-configuration${pathname}`);
    expect(await inserted.json()).toEqual(body);
  });
});

describe('a stream', () => {
  it('is created, read, changed, replaced and deleted', async () => {
    const { owner, pushTo, create } = rooms;
    const made = await create({
      delivery: pushTo('/config', { authorization_header: 'Bearer of-the-receiver' }),
      events_requested: [SESSION_REVOKED, 'https://example.com/unknown'],
      description: 'for a gateway',
    });
    expect(made.status).toBe(201);
    const { stream_id: id } = made.body;
    const shown = {
      stream_id: id,
      iss: owner.credentials.issuer_url,
      aud: owner.credentials.client_id,
      events_supported: [SESSION_REVOKED, CREDENTIAL_CHANGE],
      events_requested: [SESSION_REVOKED, 'https://example.com/unknown'],
      events_delivered: [SESSION_REVOKED],
      delivery: {
        method: PUSH,
        endpoint_url: `${rooms.receiver.url}/config`,
        authorization_header: '***',
      },
      description: 'for a gateway',
    };
    expect(made.body).toEqual(shown);
    expect((await owner.send('GET', `/api/v1/ssf/streams?stream_id=${id}`)).body).toEqual(shown);
    expect((await owner.send('GET', '/api/v1/ssf/streams')).body).toContainEqual(shown);

    const patched = await owner.send('PATCH', '/api/v1/ssf/streams', {
      ...shown,
      events_requested: [CREDENTIAL_CHANGE],
    });
    expect(patched.body).toEqual({
      ...shown,
      events_requested: [CREDENTIAL_CHANGE],
      events_delivered: [CREDENTIAL_CHANGE],
    });
    const replaced = await owner.send('PUT', '/api/v1/ssf/streams', {
      stream_id: id,
      delivery: pushTo('/config-2'),
    });
    const { description: _, events_requested: __, ...rest } = shown;
    expect(replaced.body).toEqual({
      ...rest,
      events_delivered: [SESSION_REVOKED, CREDENTIAL_CHANGE],
      delivery: { method: PUSH, endpoint_url: `${rooms.receiver.url}/config-2` },
    });
    expect((await owner.send('DELETE', `/api/v1/ssf/streams?stream_id=${id}`)).status).toBe(204);
    expect((await owner.send('GET', `/api/v1/ssf/streams?stream_id=${id}`)).status).toBe(404);
    expect((await owner.send('DELETE', `/api/v1/ssf/streams?stream_id=${id}`)).status).toBe(404);
  });

  it('is polled when no delivery is named', async () => {
    const { body } = await rooms.create();
    expect(body.delivery).toEqual({
      method: POLL,
      endpoint_url: `${rooms.owner.credentials.base_url}/api/v1/ssf/streams/${body.stream_id}/poll`,
    });
  });

  it.each([
    ['iss', 'https://other.example'],
    ['aud', 'somebody'],
    ['events_delivered', [SESSION_REVOKED]],
    ['events_supported', []],
  ])('refuses another %s, which the service supplies', async (member, value) => {
    const { body } = await rooms.create();
    const answer = await rooms.owner.send('PATCH', '/api/v1/ssf/streams', {
      stream_id: body.stream_id,
      [member]: value,
    });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(`body.${member}`);
  });

  it('refuses a receiver that no delivery may go to', async () => {
    const delivery = { method: PUSH, endpoint_url: 'https://10.0.0.1/events' };
    const answer = await rooms.create({ delivery });
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, 'body.delivery.endpoint_url']);
  });

  it('sends its masked header to no other URL', async () => {
    const { owner, pushTo, create } = rooms;
    const header = { authorization_header: 'Bearer of-the-receiver' };
    const { stream_id: id } = (await create({ delivery: pushTo('/masked', header) })).body;
    const change = (endpoint_url: string, more = {}) => {
      const delivery = { method: PUSH, endpoint_url, ...more };
      return owner.send('PATCH', '/api/v1/ssf/streams', { stream_id: id, delivery });
    };
    const kept = await change(`${rooms.receiver.url}/masked`, { authorization_header: '***' });
    expect(kept.body.delivery.authorization_header).toBe('***');
    const thief = 'https://127.0.0.1:9443/steal';
    for (const place of [`${rooms.receiver.url}/other`, thief]) {
      const refused = await change(place, { authorization_header: '***' });
      expect([refused.status, refused.body.errors[0].path]).toEqual([
        400,
        'body.delivery.authorization_header',
      ]);
    }
    expect((await change(thief)).body.delivery).toEqual({ method: PUSH, endpoint_url: thief });
    const back = await change(`${rooms.receiver.url}/masked`, { authorization_header: '***' });
    expect(back.status).toBe(400);
  });

  it('belongs to the client that created it, and is no webhook', async () => {
    const { owner, receiverToken } = rooms;
    const id = await push('/own');
    const token = await receiverToken('ssf.read', 'ssf.manage');
    const as = (method: string, path: string, body?: unknown) => owner.send(method, path, body, token);
    expect((await as('GET', '/api/v1/ssf/streams')).body).toEqual([]);
    expect((await as('GET', `/api/v1/ssf/streams?stream_id=${id}`)).status).toBe(404);
    expect((await as('POST', '/api/v1/ssf/status', { stream_id: id, status: 'paused' })).status).toBe(404);
    expect((await as('POST', '/api/v1/ssf/verify', { stream_id: id })).status).toBe(404);
    expect((await as('POST', `/api/v1/ssf/streams/${id}/poll`, {})).status).toBe(404);
    expect((await owner.send('GET', `/api/v1/webhooks/${id}`)).status).toBe(404);
    expect((await owner.send('PUT', `/api/v1/webhooks/${id}`, { active: false })).status).toBe(404);
    expect((await owner.send('GET', '/api/v1/webhooks')).text).not.toContain(id);
  });

  it('needs ssf.read to be read, and ssf.manage to be changed', async () => {
    const { owner, receiverToken } = rooms;
    const [reader, manager] = [await receiverToken('ssf.read'), await receiverToken('ssf.manage')];
    expect((await owner.send('GET', '/api/v1/ssf/streams', undefined, manager)).status).toBe(403);
    expect((await owner.send('POST', '/api/v1/ssf/streams', {}, reader)).status).toBe(403);
    expect((await owner.send('GET', '/api/v1/ssf/streams', undefined, reader)).status).toBe(200);
    expect((await owner.send('POST', '/api/v1/ssf/streams', {}, manager)).status).toBe(201);
  });
});

describe('a pushed stream', () => {
  it('gets a token when an agent is suspended, a key revoked, a delegation ended, a token revoked', async () => {
    const { owner, makeAgent, suspend } = rooms;
    const path = '/all';
    accepting(path);
    const id = await push(path, {
      delivery: rooms.pushTo(path, { authorization_header: 'Bearer secret-1' }),
    });
    const agentId = await makeAgent();
    const subject = { format: 'iss_sub', iss: owner.credentials.issuer_url, sub: agentId };

    await suspend(agentId);
    const [token = ''] = await arrived(path, 1);
    const [request] = rooms.receiver.of(path);
    expect(request?.headers).toMatchObject({
      'content-type': 'application/secevent+jwt',
      accept: 'application/json',
      authorization: 'Bearer secret-1',
    });
    expect(Object.keys(request?.headers ?? {}).filter((name) => /^(x-service|webhook)-/.test(name))).toEqual(
      [],
    );
    expect(decodeProtectedHeader(token)).toEqual({
      alg: 'RS256',
      typ: 'secevent+jwt',
      kid: expect.any(String),
    });
    const claims = await read(token);
    expect(claims).toEqual({
      iss: owner.credentials.issuer_url,
      aud: owner.credentials.client_id,
      jti: expect.any(String),
      iat: expect.any(Number),
      txn: expect.any(String),
      sub_id: subject,
      events: {
        [SESSION_REVOKED]: {
          event_timestamp: expect.any(Number),
          initiating_entity: 'admin',
          reason_admin: { en: 'The agent was suspended.' },
        },
      },
    });
    // The record of an attempt follows the answer.
    await eventually(
      async () => (await deliveryOf(claims)).status === 'delivered',
      'the end of the delivery',
    );

    const delegation = await owner.send('POST', '/api/v1/delegations', {
      subject: { issuer: 'https://idp.example', sub: 'user' },
      agent_id: await makeAgent(),
      scopes: ['openid'],
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    });
    await owner.send('POST', `/api/v1/delegations/${delegation.body.id}/revoke`, { reason: 'test' });
    const [, ended = ''] = await arrived(path, 2);
    expect((await read(ended)).sub_id).toMatchObject({
      format: 'complex',
      application: { format: 'iss_sub' },
    });

    await owner.send('DELETE', `/api/v1/agents/${agentId}`);
    const [, , deleted = ''] = await arrived(path, 3);
    expect(await read(deleted)).toMatchObject({ sub_id: subject, events: { [SESSION_REVOKED]: {} } });
    expect((await rooms.status(id)).body).toEqual({ stream_id: id, status: 'enabled' });
  });

  it('gets only what it asked for, and nothing about a subject that it removed', async () => {
    const { owner, makeAgent, suspend } = rooms;
    accepting('/keys');
    accepting('/some');
    await push('/keys', { events_requested: [CREDENTIAL_CHANGE] });
    const id = await push('/some');
    const [left, kept] = [await makeAgent(), await makeAgent()];
    const subject = { format: 'opaque', id: left };
    const removed = await owner.send('POST', '/api/v1/ssf/subjects/remove', { stream_id: id, subject });
    expect(removed.status).toBe(204);
    await suspend(left);
    await suspend(kept);
    const [token = ''] = await arrived('/some', 1);
    expect((await read(token)).sub_id).toMatchObject({ sub: kept });
    expect(received('/some')).toHaveLength(1);
    expect(received('/keys')).toHaveLength(0);

    const added = await owner.send('POST', '/api/v1/ssf/subjects/add', {
      stream_id: id,
      subject: { format: 'iss_sub', iss: owner.credentials.issuer_url, sub: left },
      verified: true,
    });
    expect([added.status, added.text]).toEqual([200, '']);
    await owner.send('DELETE', `/api/v1/agents/${left}`);
    expect(await arrived('/some', 2)).toHaveLength(2);
    const unknown = { stream_id: id, subject: { format: 'email', email: 'a@example.com' } };
    // Answers do not tell which agents there are.
    expect((await owner.send('POST', '/api/v1/ssf/subjects/add', unknown)).status).toBe(200);
    expect((await owner.send('POST', '/api/v1/ssf/subjects/remove', unknown)).status).toBe(204);
  });

  it('fails a token that the receiver refuses, and keeps the code of the refusal', async () => {
    const { owner, makeAgent, suspend } = rooms;
    rooms.receiver.answer('/refuses', () => ({
      status: 400,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ err: 'invalid_audience', description: 'not for me' }),
    }));
    await push('/refuses');
    await suspend(await makeAgent());
    const [token = ''] = await arrived('/refuses', 1);
    const { jti } = await read(token);
    const delivery = await eventually(async () => {
      const { body } = await owner.send('GET', `/api/v1/deliveries/${jti}`);
      return body.status === 'failed' && body;
    }, 'the refusal');
    expect(delivery).toMatchObject({ last_error: 'set:invalid_audience', attempt_count: 1 });
  });

  it('is verified with the state of the request', async () => {
    accepting('/verify');
    const id = await push('/verify');
    const { owner } = rooms;
    const asked = await owner.send('POST', '/api/v1/ssf/verify', { stream_id: id, state: 'ping' });
    expect([asked.status, asked.text]).toEqual([204, '']);
    const [token = ''] = await arrived('/verify', 1);
    const claims = await read(token);
    expect(await eventOf(claims)).toBe('webhook.stream.verification');
    expect(claims).toMatchObject({
      sub_id: { format: 'opaque', id },
      events: { [VERIFICATION]: { state: 'ping' } },
    });
  });

  it('holds its events while it is paused, and drops them while it is disabled', async () => {
    const { makeAgent, suspend, setStatus, owner } = rooms;
    accepting('/paused');
    const id = await push('/paused');
    expect((await setStatus(id, 'paused', 'maintenance')).body).toEqual({
      stream_id: id,
      status: 'paused',
      reason: 'maintenance',
    });
    const held = await makeAgent();
    await suspend(held);
    expect((await rooms.status(id)).body).toMatchObject({ status: 'paused', reason: 'maintenance' });
    expect(received('/paused')).toHaveLength(0);
    await setStatus(id, 'enabled');
    const [token = ''] = await arrived('/paused', 1);
    expect((await read(token)).sub_id).toMatchObject({ sub: held });

    await setStatus(id, 'paused');
    await suspend(await makeAgent());
    await setStatus(id, 'disabled');
    await suspend(await makeAgent());
    expect((await owner.send('POST', '/api/v1/ssf/verify', { stream_id: id })).status).toBe(409);
    await setStatus(id, 'enabled');
    const last = await makeAgent();
    await suspend(last);
    const tokens = await arrived('/paused', 2);
    expect(tokens).toHaveLength(2);
    expect((await read(tokens[1] ?? '')).sub_id).toMatchObject({ sub: last });
  });

  it('is paused by 410, and told so once it is enabled again', async () => {
    const { makeAgent, suspend, setStatus } = rooms;
    accepting('/gone', 410);
    const id = await push('/gone');
    await suspend(await makeAgent());
    await eventually(async () => (await rooms.status(id)).body.status === 'paused', 'the stop');
    expect((await rooms.status(id)).body).toEqual({ stream_id: id, status: 'paused', reason: 'gone' });
    accepting('/gone');
    await setStatus(id, 'enabled');
    const [, token = ''] = await arrived('/gone', 2);
    const claims = await read(token);
    expect(claims.events).toEqual({ [STREAM_UPDATED]: { status: 'paused', reason: 'gone' } });
    expect(await eventOf(claims)).toBe('webhook.stream.updated');
  });
});
