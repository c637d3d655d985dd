// Applications and their secrets over HTTP, tried out at the token endpoint.
import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { createCursors } from '../../../src/platform/database/page.ts';
import { basic, insertAgent, provisionTenant, requestTo } from '../../authentication/tokens/accounts.ts';
import { useAccountsServer } from '../../authentication/tokens/accounts-server.ts';

const { test, server } = await useAccountsServer();

const GRANT = 'grant_type=client_credentials';

const demo = await provisionTenant(server.accounts, 'demo');
const headers = { authorization: demo.authorization };
const token = (await (await server.requestToken(server.origin, GRANT, headers)).json()).access_token;

const send = (method: string, path = '', body?: unknown, bearer = token) =>
  server.send(method, `${server.origin}/api/v1/applications${path}`, bearer, body);
const works = async (id: string, secret: string) =>
  (await server.requestToken(server.origin, GRANT, { authorization: basic(id, secret) })).status === 200;
const create = async (changes: object = {}) =>
  (await send('POST', '', { name: 'Client', scopes: ['openid', 'agents:read'], ...changes })).body;

describe('an application', () => {
  it('is created with a secret that is shown once and works', async () => {
    const created = await send('POST', '', { name: 'Billing', scopes: ['events:write'] });
    const { client_secret, ...shown } = created.body;
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toBe(`${server.origin}/api/v1/applications/${shown.client_id}`);
    expect(shown).toMatchObject({
      name: 'Billing',
      audience: server.origin,
      scopes: ['events:write'],
      grant_types: ['client_credentials'],
      agent_id: null,
      secrets: [{ id: expect.any(String), expires_at: null }],
    });
    expect(shown.id).toBe(shown.client_id);
    expect((await send('GET', `/${shown.client_id}`)).body).toEqual(shown);
    expect(await works(shown.client_id, client_secret)).toBe(true);
    const { rows } = await test.database.query<{ text: string }>(
      'SELECT concat(applications, application_secrets, audit_log) AS text FROM applications, application_secrets, audit_log',
    );
    expect(rows.some(({ text }) => text.includes(client_secret))).toBe(false);
  });

  it('created twice with one idempotency key is one application, whose secret is not shown again', async () => {
    const post = () =>
      fetch(`${server.origin}/api/v1/applications`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'idempotency-key': 'once',
        },
        body: JSON.stringify({ name: 'Once', scopes: ['openid'] }),
      }).then((response) => response.json());
    const { client_secret, ...first } = await post();
    expect(client_secret).toMatch(/^[\w-]{43}$/);
    expect(await post()).toEqual(first);
  });

  it.each([
    ['no name', { name: undefined }, 'body.name'],
    ['no scopes', { scopes: [] }, 'body.scopes'],
    ['an unknown scope', { scopes: ['root'] }, 'body.scopes.0'],
    ['an unknown grant', { grant_types: ['password'] }, 'body.grant_types.0'],
    ['an unknown field', { secret: 'mine' }, 'body.secret'],
    ['an agent that is not there', { agent_id: '0192f0c0-0000-7000-8000-000000000001' }, 'body.agent_id'],
  ])('is refused with %s', async (_name, changes, path) => {
    const { status, body } = await send('POST', '', { name: 'Client', scopes: ['openid'], ...changes });
    expect([status, body.error]).toEqual([400, 'invalid_request']);
    expect(body.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  it('may act for an agent of its tenant within that agent’s scopes, and then carries its claims', async () => {
    const { tenant } = await provisionTenant(server.accounts, 'acme');
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid']);
    const foreign = await insertAgent(test.database, tenant.id, ['openid']);
    expect((await send('POST', '', { name: 'x', scopes: ['email'], agent_id: agentId })).status).toBe(400);
    expect((await send('POST', '', { name: 'x', scopes: ['openid'], agent_id: foreign })).status).toBe(400);
    const linked = await create({ scopes: ['openid'], agent_id: agentId });
    const authorization = basic(linked.client_id, linked.client_secret);
    const answer = await (await server.requestToken(server.origin, GRANT, { authorization })).json();
    const claims = JSON.parse(Buffer.from(answer.access_token.split('.')[1], 'base64url').toString());
    expect(claims).toMatchObject({
      sub: agentId,
      client_id: linked.client_id,
      subject_type: 'agent',
      agent: { name: 'Robot', capabilities: ['web', 'mcp'] },
    });
    expect((await send('PATCH', `/${linked.client_id}`, { scopes: ['email'] })).status).toBe(400);
  });

  it('is left alone by a change that names no field', async () => {
    const { client_secret: _secret, ...before } = await create();
    const { status, body } = await send('PATCH', `/${before.client_id}`, {});
    expect([status, body]).toEqual([200, before]);
    const { rows } = await test.database.query('SELECT action FROM audit_log WHERE target_id = $1', [
      before.client_id,
    ]);
    expect(rows).toEqual([{ action: 'application.created' }]);
  });

  it('is linked to an agent and unlinked by a change, its scopes within the agent’s', async () => {
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid']);
    const foreign = await provisionTenant(server.accounts, 'umbrella');
    const foreignAgent = await insertAgent(test.database, foreign.tenant.id, ['openid']);
    const { client_id, client_secret } = await create({ scopes: ['openid', 'email'] });
    const subject = async () => {
      const headers = { authorization: basic(client_id, client_secret) };
      const { access_token } = await (await server.requestToken(server.origin, GRANT, headers)).json();
      return JSON.parse(Buffer.from(access_token.split('.')[1], 'base64url').toString()).sub;
    };
    const change = async (fields: object) => {
      const { status, body } = await send('PATCH', `/${client_id}`, fields);
      return [status, body.agent_id, body.scopes];
    };
    expect((await change({ agent_id: agentId }))[0]).toBe(400);
    expect((await change({ agent_id: foreignAgent, scopes: ['openid'] }))[0]).toBe(400);
    expect((await change({ agent_id: 'nonsense' }))[0]).toBe(400);
    expect(await change({ agent_id: agentId, scopes: ['openid'] })).toEqual([200, agentId, ['openid']]);
    expect(await subject()).toBe(agentId);
    expect((await change({ scopes: ['email'] }))[0]).toBe(400);
    expect(await change({ agent_id: null })).toEqual([200, null, ['openid']]);
    expect(await subject()).toBe(client_id);
    expect(await change({ scopes: ['email'] })).toEqual([200, null, ['email']]);
  });

  it('is changed field by field; its audience goes into its tokens', async () => {
    const { client_id, client_secret } = await create();
    const changed = await send('PATCH', `/${client_id}`, {
      name: 'New',
      audience: 'https://api.example.com',
      client_id: 'ignored',
    });
    expect(changed.body).toMatchObject({ client_id, name: 'New', audience: 'https://api.example.com' });
    expect(changed.body.scopes).toEqual(['openid', 'agents:read']);
    const authorization = basic(client_id, client_secret);
    const answer = await (await server.requestToken(server.origin, GRANT, { authorization })).json();
    expect((await send('GET', '', undefined, answer.access_token)).body.error).toBe('insufficient_scope');
    expect((await send('PATCH', `/${client_id}`, { audience: null })).body.audience).toBe(server.origin);
  });

  it('has at most two live secrets, each of which can be ended', async () => {
    const { client_id, client_secret: first } = await create();
    const added = await send('POST', `/${client_id}/secrets`);
    expect(added.status).toBe(201);
    expect(await works(client_id, first)).toBe(true);
    expect(await works(client_id, added.body.client_secret)).toBe(true);
    expect((await send('POST', `/${client_id}/secrets`)).body.error).toBe('conflict');
    const { secrets } = (await send('GET', `/${client_id}`)).body;
    expect(secrets.map(({ id }: { id: string }) => id)[0]).toBe(added.body.id);
    expect((await send('DELETE', `/${client_id}/secrets/${secrets[1].id}`)).status).toBe(204);
    expect(await works(client_id, first)).toBe(false);
    expect(await works(client_id, added.body.client_secret)).toBe(true);
    expect((await send('DELETE', `/${client_id}/secrets/${secrets[1].id}`)).status).toBe(404);
  });

  it('has at most two live secrets, however many are asked for at the same time', async () => {
    const { client_id } = await create();
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('POST', `/${client_id}/secrets`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expect((await send('GET', `/${client_id}`)).body.secrets).toHaveLength(2);
  });

  it('is found by its name and by its agent', async () => {
    const name = `Searched ${Date.now()}`;
    const { client_id } = await create({ name });
    const ids = async (query: string) =>
      (await send('GET', `?${query}`)).body.data.map((each: { client_id: string }) => each.client_id);
    expect(await ids(`name=${encodeURIComponent(name)}`)).toEqual([client_id]);
    expect(await ids('name=Searched')).toEqual([]);
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid']);
    await send('PATCH', `/${client_id}`, { agent_id: agentId, scopes: ['openid'] });
    expect(await ids(`agent_id=${agentId}`)).toEqual([client_id]);
  });

  it('keeps following the tenant’s address when it is sent back as it was read', async () => {
    const { client_id } = await create();
    const { body } = await send('GET', `/${client_id}`);
    const { status, body: same } = await send('PATCH', `/${client_id}`, body);
    expect([status, same]).toEqual([200, body]);
    const { rows } = await test.database.query('SELECT audience FROM applications WHERE id = $1', [
      client_id,
    ]);
    expect(rows).toEqual([{ audience: null }]);
  });

  it('gets one secret from two requests with one idempotency key, and its text once', async () => {
    const { client_id } = await create();
    const post = () =>
      fetch(`${server.origin}/api/v1/applications/${client_id}/secrets`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'idempotency-key': 'one-secret' },
      });
    const first = await post();
    const { client_secret, ...shown } = await first.json();
    expect(client_secret).toMatch(/^[\w-]{43}$/);
    const again = await post();
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    expect(await again.json()).toEqual(shown);
    expect((await send('GET', `/${client_id}`)).body.secrets).toHaveLength(2);
  });

  it('is gone after it was deleted, with its secrets', async () => {
    const { client_id, client_secret } = await create();
    expect((await send('DELETE', `/${client_id}`)).status).toBe(204);
    expect(await works(client_id, client_secret)).toBe(false);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', {}],
      ['DELETE', '', undefined],
      ['POST', '/secrets', undefined],
    ] as const) {
      expect((await send(method, `/${client_id}${path}`, body)).status).toBe(404);
    }
  });

  it('of another tenant, or with a malformed id, is not found', async () => {
    const acme = await server.accounts.tenants.bySlug('acme');
    if (acme === undefined) throw new Error('no tenant');
    const [foreign] = await server.accounts.applications.list(requestTo(acme));
    expect((await send('GET', `/${foreign?.id}`)).status).toBe(404);
    expect((await send('DELETE', `/${foreign?.id}`)).status).toBe(404);
    expect((await send('POST', `/${foreign?.id}/secrets`)).status).toBe(404);
    expect((await send('GET', '/nonsense')).status).toBe(404);
    await expect(server.accounts.applications.get(requestTo(acme), 'nonsense')).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('is listed by pages, the newest first', async () => {
    const all = (await send('GET', '?limit=200')).body.data.map(
      ({ client_id }: { client_id: string }) => client_id,
    );
    expect(all).toEqual([...all].sort().reverse());
    const seen: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page: { data: { client_id: string }[]; next_cursor: string | null } = (
        await send('GET', `?limit=2${cursor && `&cursor=${cursor}`}`)
      ).body;
      seen.push(...page.data.map(({ client_id }) => client_id));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual(all);
    expect((await send('GET', '?cursor=nonsense')).status).toBe(400);
    const other = createCursors('/api/v1/agents').encode(newId());
    expect((await send('GET', `?cursor=${other}`)).body).toMatchObject({
      error: 'invalid_request',
      errors: [{ path: 'query.cursor', message: 'is not a cursor that this list gave' }],
    });
  });
});

describe('an application that lacks a scope', () => {
  const DENIED = [403, 'insufficient_scope'];
  let lesser: string;
  const as = async (method: string, path: string, body?: unknown) => {
    const answer = await send(method, path, body, lesser);
    return [answer.status, answer.body?.error];
  };

  beforeAll(async () => {
    const { client_id, client_secret } = await create({ scopes: ['applications:write', 'openid'] });
    const headers = { authorization: basic(client_id, client_secret) };
    lesser = (await (await server.requestToken(server.origin, GRANT, headers)).json()).access_token;
  });

  it('creates no application that holds it', async () => {
    const answer = await send('POST', '', { name: 'x', scopes: ['openid', 'tenant:write'] }, lesser);
    expect([answer.status, answer.body.error]).toEqual(DENIED);
    expect(answer.body.detail).toContain('tenant:write');
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    expect(await as('POST', '', { name: 'x', scopes: ['openid', 'applications:write'] })).toEqual([
      201,
      undefined,
    ]);
  });

  it('changes the scopes of no application that holds it, and of others', async () => {
    const { client_id } = await create({ scopes: ['openid', 'agents:read', 'email'] });
    expect(await as('PATCH', `/${client_id}`, { scopes: ['openid', 'tenant:write'] })).toEqual(DENIED);
    expect((await send('GET', `/${client_id}`)).body.scopes).toEqual(['openid', 'agents:read', 'email']);
    expect(await as('PATCH', `/${client_id}`, { scopes: ['openid'] })).toEqual(DENIED);
    expect((await as('PATCH', `/${client_id}`, { name: 'x' }))[0]).toBe(200);
    const { client_id: weak } = await create({ scopes: ['openid', 'applications:write'] });
    expect((await as('PATCH', `/${weak}`, { scopes: ['openid'] }))[0]).toBe(200);
  });

  it('gives no application that holds it another agent', async () => {
    const agentId = await insertAgent(test.database, demo.tenant.id, ['openid', 'email']);
    const { client_id } = await create({ scopes: ['email'] });
    expect(await as('PATCH', `/${client_id}`, { agent_id: agentId })).toEqual(DENIED);
    expect((await send('PATCH', `/${client_id}`, { agent_id: agentId })).status).toBe(200);
    expect(await as('PATCH', `/${client_id}`, { agent_id: null })).toEqual(DENIED);
  });

  it('gets no secret of an application that holds it, but may end one', async () => {
    const { client_id, secrets } = await create({ scopes: ['openid', 'tenant:write'] });
    expect(await as('POST', `/${client_id}/secrets`)).toEqual(DENIED);
    expect((await send('GET', `/${client_id}`)).body.secrets).toEqual(secrets);
    expect((await as('DELETE', `/${client_id}/secrets/${secrets[0].id}`))[0]).toBe(204);
    const { client_id: own } = await create({ scopes: ['openid'] });
    expect((await as('POST', `/${own}/secrets`))[0]).toBe(201);
  });
});

describe('rotating a secret', () => {
  const rotate = (id: string, overlap?: number) =>
    server.accounts.applications.rotateSecret(requestTo(demo.tenant), id, overlap);

  it('keeps the one before for the overlap, and never more than two', async () => {
    const { client_id, client_secret: first } = await create();
    const second = await rotate(client_id);
    expect(await works(client_id, first)).toBe(true);
    expect(await works(client_id, second.clientSecret)).toBe(true);
    const { secrets } = (await send('GET', `/${client_id}`)).body;
    const overlap = Date.parse(secrets[1].expires_at) - Date.parse(secrets[0].created_at);
    expect([secrets[0].expires_at, overlap / 1_000]).toEqual([null, expect.closeTo(86_400, -1)]);

    const third = await rotate(client_id);
    expect(await works(client_id, first)).toBe(false);
    expect(await works(client_id, second.clientSecret)).toBe(true);
    expect(await works(client_id, third.clientSecret)).toBe(true);
  });

  it('without an overlap ends the one before immediately', async () => {
    const { client_id, client_secret } = await create();
    const { clientSecret } = await rotate(client_id, 0);
    expect(await works(client_id, client_secret)).toBe(false);
    expect(await works(client_id, clientSecret)).toBe(true);
  });

  it('of an application that is not there is refused', async () => {
    await expect(rotate('0192f0c0-0000-7000-8000-000000000001')).rejects.toMatchObject({ code: 'not_found' });
  });
});
