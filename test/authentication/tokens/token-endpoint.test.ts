// The token endpoint over HTTP: what it answers, and every refusal.
import { afterAll, describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../setup/database.ts';
import { basic, insertAgent, provisionTenant } from './accounts.ts';
import { startAccountsServer } from './accounts-server.ts';

const GRANT = 'grant_type=client_credentials';
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const test = await useTestDatabase();

const server = await startAccountsServer(test.database);
const demo = await provisionTenant(server.accounts, 'demo');
const acme = await provisionTenant(server.accounts, 'acme');

afterAll(async () => {
  await server.close();
  await server.accounts.clientRecords.close();
});

const ask = async (form: string, authorization: string | undefined = demo.authorization, tenant = demo) => {
  const response = await server.requestToken(
    tenant.tenant.issuerUrl,
    form,
    authorization === undefined ? {} : { authorization },
  );
  return { status: response.status, headers: response.headers, body: await response.json() };
};

describe('the token endpoint', () => {
  it('answers client credentials with a bearer token, no refresh token, and headers that forbid storing it', async () => {
    const { status, headers, body } = await ask(`${GRANT}&scope=webhooks:read+agents:read+agents:read`);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'agents:read webhooks:read',
    });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('pragma')).toBe('no-cache');
  });

  it('grants all scopes of the application when none is asked for, also by an empty parameter', async () => {
    const { body: without } = await ask(GRANT);
    const { body: empty } = await ask(`${GRANT}&scope=`);
    expect(without.scope.split(' ')).toHaveLength(23);
    expect(empty.scope).toBe(without.scope);
  });

  it('ignores parameters that it does not know, and a client_id that repeats the authenticated one', async () => {
    const { status } = await ask(`${GRANT}&foo=bar&client_id=${demo.credentials.client_id}`);
    expect(status).toBe(200);
  });

  it.each<[string, () => [string, (string | undefined)?], number, string]>([
    ['an audience', () => [`${GRANT}&audience=x`], 400, 'invalid_request'],
    ['no grant type', () => ['scope=openid'], 400, 'unsupported_grant_type'],
    ['an empty grant type', () => ['grant_type='], 400, 'unsupported_grant_type'],
    ['an unknown grant type', () => ['grant_type=password'], 400, 'unsupported_grant_type'],
    ['a repeated parameter', () => [`${GRANT}&${GRANT}`], 400, 'invalid_request'],
    ['a repeated unknown parameter', () => [`${GRANT}&a=1&a=2`], 400, 'invalid_request'],
    ['a malformed escape in the body', () => [`${GRANT}&scope=%zz`], 400, 'invalid_request'],
    ['a scope outside', () => [`${GRANT}&scope=openid+admin`], 400, 'invalid_scope'],
    ['a malformed scope', () => [`${GRANT}&scope=%22openid%22`], 400, 'invalid_scope'],
    ['a scope of spaces', () => [`${GRANT}&scope=+`], 400, 'invalid_scope'],
    ['a second way of authenticating', () => [`${GRANT}&client_secret=x`], 400, 'invalid_request'],
    ['an assertion beside Basic', () => [`${GRANT}&client_assertion=x`], 400, 'invalid_request'],
    ['another client_id in the body', () => [`${GRANT}&client_id=${UNKNOWN}`], 400, 'invalid_request'],
    ['a malformed Basic header', () => [GRANT, 'Basic %%%'], 400, 'invalid_request'],
    ['a malformed escape in Basic', () => [GRANT, `Basic ${btoa('a:%zz')}`], 400, 'invalid_request'],
    ['a wrong secret', () => [GRANT, basic(demo.credentials.client_id, 'wrong')], 401, 'invalid_client'],
    ['an empty secret', () => [GRANT, basic(demo.credentials.client_id, '')], 401, 'invalid_client'],
    [
      'an unknown client',
      () => [GRANT, basic(UNKNOWN, demo.credentials.client_secret)],
      401,
      'invalid_client',
    ],
    ['a client id that is no UUID', () => [GRANT, basic("a'; --", 'x')], 401, 'invalid_client'],
    ["another tenant's client", () => [GRANT, acme.authorization], 401, 'invalid_client'],
    ['another scheme', () => [GRANT, 'Bearer abc'], 401, 'invalid_client'],
  ])('refuses %s', async (_name, request, expectedStatus, code) => {
    const { status, headers, body } = await ask(...request());
    expect({ status, error: body.error }).toEqual({ status: expectedStatus, error: code });
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({ status, title: expect.any(String), detail: body.error_description });
    expect(headers.get('www-authenticate') ?? '').toMatch(status === 401 ? /^Basic realm="/ : /^$/);
  });

  it.each([
    ['no credentials', GRANT, 'HTTP Basic'],
    ['an unknown client in the body', `${GRANT}&client_id=${UNKNOWN}&client_secret=x`, 'failed'],
  ])('refuses %s with a challenge for Basic', async (_name, form, said) => {
    const response = await server.requestToken(demo.tenant.issuerUrl, form);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      `Basic realm="${demo.tenant.issuerUrl}", charset="UTF-8"`,
    );
    const { error, error_description } = await response.json();
    expect([error, error_description]).toEqual(['invalid_client', expect.stringContaining(said)]);
  });

  it('answers an unknown client and a wrong secret with the same words', async () => {
    const answers = await Promise.all([
      ask(GRANT, basic(UNKNOWN, 'x')),
      ask(GRANT, basic(demo.credentials.client_id, 'x')),
      ask(GRANT, acme.authorization),
    ]);
    const texts = answers.map(({ body: { request_id: _, ...rest } }) => JSON.stringify(rest));
    expect(new Set(texts).size).toBe(1);
  });

  it('serves each tenant at its own address', async () => {
    expect((await ask(GRANT, acme.authorization, acme)).status).toBe(200);
    expect((await ask(GRANT, demo.authorization, acme)).status).toBe(401);
  });

  it('takes no other method and no other type of body', async () => {
    const url = `${demo.tenant.issuerUrl}/oauth/token`;
    const headers = { authorization: demo.authorization };
    expect((await fetch(`${url}?${GRANT}`, { headers })).status).toBe(405);
    const json = { ...headers, 'content-type': 'application/json' };
    expect((await fetch(url, { method: 'POST', headers: json, body: '{}' })).status).toBe(415);
  });
});

it('a resource that is not the audience is told which one is', async () => {
  const { body } = await ask(`${GRANT}&resource=${encodeURIComponent(`${demo.tenant.baseUrl}/`)}`);
  expect(body).toMatchObject({
    error: 'invalid_target',
    detail: `The resource is not the application's audience, ${demo.tenant.baseUrl}, which comes from its configuration.`,
  });
});

describe('a client whose library sends its secret in the form', () => {
  const inForm = (secret = demo.credentials.client_secret) =>
    `${GRANT}&client_id=${demo.credentials.client_id}&client_secret=${encodeURIComponent(secret)}`;

  it('gets a token, and the audit log says how it authenticated', async () => {
    const response = await server.requestToken(demo.tenant.issuerUrl, `${inForm()}&scope=openid`);
    expect([response.status, (await response.json()).scope]).toEqual([200, 'openid']);
    const { rows } = await test.database.query<{ method: string }>(
      `SELECT data->>'client_auth' AS method FROM audit_log
         WHERE action = 'auth.login.success' ORDER BY id DESC LIMIT 1`,
    );
    expect(rows).toEqual([{ method: 'client_secret_post' }]);
  });

  it.each([
    ['a misspelt scope', () => '', '&scope=nope', 'invalid_scope'],
    ['a wrong secret', () => 'wrong', '', 'invalid_client'],
  ])('and tried HTTP Basic before is told the true cause twice: %s', async (_name, end, more, code) => {
    const secret = `${demo.credentials.client_secret}${end()}`;
    const first = await ask(`${GRANT}${more}`, basic(demo.credentials.client_id, secret));
    const second = await (
      await server.requestToken(demo.tenant.issuerUrl, `${inForm(secret)}${more}`)
    ).json();
    expect(second.error).toBe(code);
    expect(second.detail).toBe(first.body.detail);
  });

  it('is told that its client_id is missing', async () => {
    const response = await server.requestToken(demo.tenant.issuerUrl, `${GRANT}&client_secret=x`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: 'invalid_request',
      errors: [{ path: 'body.client_id', message: 'is missing beside client_secret' }],
    });
  });
});

describe('an application that acts for an agent', () => {
  const create = async (scopes: string[]) => {
    const agentId = await insertAgent(test.database, demo.tenant.id, scopes);
    const { application, clientSecret } = await server.accounts.applications.create(
      { requestId: 'r', tenant: demo.tenant, address: '192.0.2.1' },
      { name: 'Linked', scopes, agentId },
    );
    return { agentId, authorization: basic(application.id, clientSecret) };
  };
  const set = (change: string, agentId: string) =>
    test.database.query(`UPDATE agents SET ${change} WHERE id = $1`, [agentId]);

  it('gets nothing beyond what its agent may still have', async () => {
    const { agentId, authorization } = await create(['openid', 'email']);
    await set("scopes = '{email,profile}'", agentId);
    expect((await ask(GRANT, authorization)).body.scope).toBe('email');
    expect((await ask(`${GRANT}&scope=openid`, authorization)).body.error).toBe('invalid_scope');
    await set("scopes = '{}'", agentId);
    expect((await ask(GRANT, authorization)).body.error).toBe('invalid_scope');
  });

  it('is refused by policy while its agent is suspended, and let in when it is active again', async () => {
    const { agentId, authorization } = await create(['openid']);
    await set("status = 'suspended'", agentId);
    const { status, body } = await ask(GRANT, authorization);
    expect([status, body.error]).toEqual([403, 'policy_denied']);
    await set("status = 'active'", agentId);
    expect((await ask(GRANT, authorization)).status).toBe(200);
  });

  it('is no client any more once its agent is deleted', async () => {
    const { agentId, authorization } = await create(['openid']);
    await set('deleted_at = now()', agentId);
    const { status, body } = await ask(GRANT, authorization);
    expect([status, body.error]).toEqual([401, 'invalid_client']);
  });

  it('is refused a grant that it may not use', async () => {
    const { authorization } = await create(['openid']);
    await test.database.query("UPDATE applications SET grant_types = '{}' WHERE name = 'Linked'");
    const { status, body } = await ask(GRANT, authorization);
    expect([status, body.error]).toEqual([400, 'unauthorized_client']);
  });
});
