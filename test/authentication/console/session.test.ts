// Sessions of the console over HTTP: what signs in, what a session gets, and what a thief of a part of one
// gets.
import { afterAll, describe, expect, it } from 'vitest';
import { operatorContext } from '../../../src/audit/audit.ts';
import { ConsoleCodeService, type ConsoleLink } from '../../../src/authentication/console/code.service.ts';
import { ApplicationService } from '../../../src/identity/applications/application.service.ts';
import { hashSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { wireRecords } from '../../../src/webhooks/intake/wire.ts';
import { type Party, startTenants } from '../../isolation/tenants-server.ts';
import { createTestPlatform } from '../../setup/platform.ts';

const tenants = await startTenants();
const { owner, stranger } = tenants;
afterAll(() => tenants.close());

type Headers = Record<string, string>;
const send = (method: string, path: string, headers: Headers = {}, body?: unknown, party = owner) =>
  party.send(method, path, body, null, headers);
const signIn = (body: unknown, headers: Headers = {}, party = owner) =>
  send('POST', '/console/session', headers, body, party);
const tokenBy = (cookie: string, headers: Headers = {}, party = owner) =>
  send('POST', '/console/token', { cookie, ...headers }, undefined, party);
const credentialsOf = ({ credentials: { client_id, client_secret } }: Party) => ({
  client_id,
  client_secret,
});

/** Signs in. @returns the cookie as a browser sends it */
async function begin(body: unknown, party = owner): Promise<string> {
  const { status, headers, text } = await signIn(body, {}, party);
  expect([status, text]).toEqual([204, '']);
  return headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** A code as the command line makes one. */
async function makeCode(party: Party, wanted?: string): Promise<string> {
  const { url } = await makeLink(party, wanted);
  expect(url.startsWith(`${party.credentials.base_url}/console#code=`)).toBe(true);
  return url.split('#code=')[1] ?? '';
}

async function makeLink({ credentials }: Party, wanted?: string): Promise<ConsoleLink> {
  const { tenant_id: id, slug, base_url: baseUrl, issuer_url: issuerUrl } = credentials;
  const { database } = tenants;
  const records = wireRecords(createTestPlatform(database));
  const tokens = { endPrincipal: async () => undefined, admitPrincipal: async () => undefined };
  const applications = new ApplicationService({ database, records, tokens });
  const consoleCodes = new ConsoleCodeService({ database, records, applications });
  const tenant = {
    id,
    slug,
    name: slug,
    audience: baseUrl,
    signingAlgorithm: 'ES256',
    baseUrl,
    issuerUrl,
  } as const;
  return consoleCodes.makeLink(operatorContext(tenant, newId()), wanted);
}

async function makeApplication(body: object = {}): Promise<{ client_id: string; client_secret: string }> {
  const made = await owner.send('POST', '/api/v1/applications', {
    name: 'Console',
    scopes: ['agents:read'],
    ...body,
  });
  expect(made.status).toBe(201);
  return { client_id: made.body.client_id, client_secret: made.body.client_secret };
}

const hashOf = (cookie: string) => hashSecret(cookie.split('=')[1] ?? '');
const shift = (cookie: string, column: 'created_at' | 'used_at', by: string) =>
  tenants.database.query(`UPDATE console_sessions SET ${column} = now() - $2::interval WHERE hash = $1`, [
    hashOf(cookie),
    by,
  ]);

describe('a session', () => {
  it('begins with the credentials of an application and gets tokens for the management API', async () => {
    const { status, headers } = await signIn(credentialsOf(owner));
    expect(status).toBe(204);
    const cookie = headers.get('set-cookie') ?? '';
    const path = new URL(owner.credentials.base_url).pathname;
    expect(cookie).toMatch(/^countersign-console=[\w-]{43}; /);
    expect(cookie.split('; ').slice(1)).toEqual([`Path=${path}/console`, 'HttpOnly', 'SameSite=Strict']);

    const { status: got, body, headers: answered } = await tokenBy(cookie.split(';')[0] ?? '');
    expect(got).toBe(200);
    expect(answered.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({
      client_id: owner.credentials.client_id,
      tenant: { id: owner.credentials.tenant_id, slug: owner.credentials.slug },
      expires_in: expect.any(Number),
    });
    const agents = await owner.send('GET', '/api/v1/agents', undefined, body.access_token);
    expect(agents.status).toBe(200);
  });

  it('gets what its application got later, and ends with its secret, which the list shows', async () => {
    const application = await makeApplication();
    const path = `/api/v1/applications/${application.client_id}`;
    const cookie = await begin(application);
    expect((await tokenBy(cookie)).body.scope).toBe('agents:read');
    const wider = { scopes: ['agents:read', 'webhooks:read'] };
    const { body } = await owner.send('PATCH', path, wider);
    expect((await tokenBy(cookie)).body.scope).toBe('agents:read webhooks:read');
    expect(body.secrets).toHaveLength(1);
    await owner.send('DELETE', `${path}/secrets/${body.secrets[0].id}`);
    expect((await tokenBy(cookie)).status).toBe(401);
  });

  it('begins with the code of a link, once', async () => {
    const code = await makeCode(owner);
    const cookie = await begin({ code });
    expect((await tokenBy(cookie)).status).toBe(200);
    expect((await signIn({ code })).body).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('takes one of many concurrent uses of a code', async () => {
    const code = await makeCode(owner);
    const answers = await Promise.all(Array.from({ length: 8 }, () => signIn({ code })));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(7);
  });

  it('ends with the sign-out, and its tokens with it', async () => {
    const cookie = await begin(credentialsOf(owner));
    const { access_token: token } = (await tokenBy(cookie)).body;
    const out = await send('DELETE', '/console/session', { cookie });
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')]);
    expect((await tokenBy(cookie)).status).toBe(401);
    expect((await owner.send('GET', '/api/v1/agents', undefined, token)).body.error).toBe('token_revoked');
    expect((await send('DELETE', '/console/session', { cookie })).status).toBe(204);
  });

  it('ends once with many sign-outs among requests for tokens, and leaves none of the tokens', async () => {
    const application = await makeApplication();
    const cookie = await begin(application);
    const given = Array.from({ length: 24 }, (_, n) =>
      n % 3 === 2 ? send('DELETE', '/console/session', { cookie }) : tokenBy(cookie),
    );
    const tokens = (await Promise.all([tokenBy(cookie), ...given])).flatMap(({ body }) =>
      body?.access_token === undefined ? [] : [String(body.access_token)],
    );
    for (const token of tokens)
      expect((await owner.send('GET', '/api/v1/agents', undefined, token)).body.error).toBe('token_revoked');
    const { rows } = await tenants.database.query(
      `SELECT data->>'session_id' AS session FROM audit_log WHERE target_id = $1 AND action = 'console.sign_out'`,
      [application.client_id],
    );
    expect(rows).toHaveLength(1);
  });

  it('keeps the ids of its youngest tokens only', async () => {
    const cookie = await begin(credentialsOf(owner));
    await tenants.database.query(
      `UPDATE console_sessions SET token_ids = (SELECT array_agg(gen_random_uuid()) FROM generate_series(1, 50)) WHERE hash = $1`,
      [hashOf(cookie)],
    );
    await tokenBy(cookie);
    const { rows } = await tenants.database.query<{ number: number }>(
      'SELECT cardinality(token_ids) AS number FROM console_sessions WHERE hash = $1',
      [hashOf(cookie)],
    );
    expect(rows[0]?.number).toBe(50);
  });
});

describe('a link', () => {
  it('is for the application with which the tenant began, however much others can do', async () => {
    const { client_id: newer } = await makeApplication();
    await makeApplication({ audience: 'https://orders.example' });
    const { application, others } = await makeLink(owner);
    expect(application.id).toBe(owner.credentials.client_id);
    expect(others.map(({ id }) => id)).toContain(newer);
    expect(others.filter(({ audience }) => audience === 'https://orders.example')).toEqual([]);
    const { application: chosen } = await makeLink(owner, newer);
    expect(chosen.id).toBe(newer);
  });

  it('takes a name, unless several have it', async () => {
    const { client_id: id } = await makeApplication({ name: 'Desk of the night' });
    expect((await makeLink(owner, 'Desk of the night')).application.id).toBe(id);
    await makeApplication({ name: 'Desk of the night' });
    await expect(makeLink(owner, 'Desk of the night')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(makeLink(owner, 'Nobody')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('without a live session there is no token', () => {
  const expectNone = async (cookie: string, party = owner) =>
    expect((await tokenBy(cookie, {}, party)).body).toMatchObject({ status: 401, error: 'invalid_token' });

  it('for no cookie, a made-up one, and two of them', async () => {
    await expectNone('');
    await expectNone('countersign-console=');
    await expectNone(`countersign-console=${'a'.repeat(43)}`);
    const cookie = await begin(credentialsOf(owner));
    await expectNone(`${cookie}; ${cookie}`);
  });

  it('after an hour without use', async () => {
    const cookie = await begin(credentialsOf(owner));
    await shift(cookie, 'used_at', '59 minutes');
    expect((await tokenBy(cookie)).status).toBe(200);
    await shift(cookie, 'used_at', '61 minutes');
    await expectNone(cookie);
  });

  it('after eight hours, however much it was used', async () => {
    const cookie = await begin(credentialsOf(owner));
    await shift(cookie, 'created_at', '481 minutes');
    await expectNone(cookie);
  });

  it('with the cookie of another tenant', async () => {
    await expectNone(await begin(credentialsOf(owner)), stranger);
  });

  it('after the application was deleted', async () => {
    const application = await makeApplication();
    const cookies = [
      await begin(application),
      await begin({ code: await makeCode(owner, application.client_id) }),
    ];
    const deleted = await owner.send('DELETE', `/api/v1/applications/${application.client_id}`);
    expect(deleted.status).toBe(204);
    for (const cookie of cookies) await expectNone(cookie);
  });

  it('after a secret of the application was removed', async () => {
    const application = await makeApplication();
    const byCode = await begin({ code: await makeCode(owner, application.client_id) });
    const cookie = await begin(application);
    const path = `/api/v1/applications/${application.client_id}`;
    const [secret] = (await owner.send('GET', path)).body.secrets;
    expect((await owner.send('DELETE', `${path}/secrets/${secret.id}`)).status).toBe(204);
    await expectNone(cookie);
    await expectNone(byCode);
  });

  it('after the secret has expired by itself', async () => {
    const application = await makeApplication();
    const cookie = await begin(application);
    await tenants.database.query(
      'UPDATE application_secrets SET expires_at = now() WHERE application_id = $1',
      [application.client_id],
    );
    await expectNone(cookie);
  });
});

describe('a sign-in is refused', () => {
  it('with a wrong secret, as the token endpoint does, and writes it down', async () => {
    const wrong = { ...credentialsOf(owner), client_secret: 'wrong-secret-of-nobody' };
    expect((await signIn(wrong)).body).toMatchObject({ status: 401, error: 'invalid_client' });
    const unknown = { client_id: newId(), client_secret: 'x' };
    expect((await signIn(unknown)).body).toMatchObject({ status: 401, error: 'invalid_client' });
  });

  it('with an expired code, one of another tenant, and one that was made up', async () => {
    const expired = await makeCode(owner);
    await tenants.database.query('UPDATE console_codes SET expires_at = now() WHERE hash = $1', [
      hashSecret(expired),
    ]);
    for (const code of [expired, await makeCode(stranger), 'a'.repeat(43)])
      expect((await signIn({ code })).body).toMatchObject({ status: 400, error: 'invalid_grant' });
  });

  it('with another body', async () => {
    for (const body of [{}, { code: '' }, { code: 'a', client_id: 'b' }, { client_id: 'a' }, []])
      expect((await signIn(body)).body).toMatchObject({ status: 400, error: 'invalid_request' });
  });

  it('as an application whose tokens are bound to a key, or for another audience', async () => {
    const bound = await signIn(await makeApplication({ dpop_bound_access_tokens: true }));
    expect(bound.body).toMatchObject({ status: 403, error: 'policy_denied' });
    expect(bound.body.detail).toContain('DPoP');
    const other = await signIn(await makeApplication({ audience: 'https://orders.example' }));
    expect(other.body).toMatchObject({ status: 403, error: 'policy_denied' });
  });
});

describe('a page of another site', () => {
  const FOREIGN: Headers[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' },
  ];

  it.each(FOREIGN)('can neither sign in or out nor get a token: %j', async (headers) => {
    const cookie = await begin(credentialsOf(owner));
    const denied = { status: 403, error: 'policy_denied' };
    expect((await signIn(credentialsOf(owner), headers)).body).toMatchObject(denied);
    expect((await tokenBy(cookie, headers)).body).toMatchObject(denied);
    expect((await send('DELETE', '/console/session', { cookie, ...headers })).body).toMatchObject(denied);
    expect((await tokenBy(cookie)).status).toBe(200);
  });

  it('is not the tenant itself', async () => {
    const { origin } = new URL(owner.credentials.base_url);
    const headers = { 'sec-fetch-site': 'same-origin', origin };
    expect((await signIn(credentialsOf(owner), headers)).status).toBe(204);
  });

  it('finds no form that it could post', async () => {
    const answer = await fetch(`${owner.credentials.base_url}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'text/plain' },
      body: JSON.stringify(credentialsOf(owner)),
    });
    expect(answer.status).toBe(415);
  });
});

describe('while the tenant is suspended', () => {
  it('nobody signs in, no session gets a token, and none lives on afterwards', async () => {
    const cookie = await begin(credentialsOf(stranger), stranger);
    const id = stranger.credentials.tenant_id;
    await tenants.database.query('UPDATE tenants SET suspended_at = now() WHERE id = $1', [id]);
    await expect.poll(async () => (await tokenBy(cookie, {}, stranger)).body.error).toBe('policy_denied');
    expect((await signIn(credentialsOf(stranger), {}, stranger)).body.error).toBe('policy_denied');
    await tenants.database.query('UPDATE tenants SET suspended_at = NULL, resumed_at = now() WHERE id = $1', [
      id,
    ]);
    await expect.poll(async () => (await tokenBy(cookie, {}, stranger)).body.error).toBe('invalid_token');
  });
});

it('leaves no secret in a row of any table', async () => {
  const code = await makeCode(owner);
  const cookie = await begin({ code });
  const secret = cookie.split('=')[1] ?? '';
  const { access_token: token } = (await tokenBy(cookie)).body;
  const { rows } = await tenants.database.query<{ text: string }>(
    `SELECT entry::text AS text FROM audit_log entry UNION ALL SELECT session::text FROM console_sessions session
       UNION ALL SELECT event::text FROM events event UNION ALL SELECT code::text FROM console_codes code`,
  );
  const all = rows.map(({ text }) => text).join('\n');
  expect(all).toContain('console.sign_in');
  expect(all).toContain('console.link_made');
  for (const part of [code, secret, token, owner.credentials.client_secret]) expect(all).not.toContain(part);
});

it('tells the audit log who signed in, by what, and when that ended', async () => {
  const application = await makeApplication();
  const cookie = await begin(application);
  await tokenBy(cookie);
  await send('DELETE', '/console/session', { cookie });
  await signIn({ code: 'b'.repeat(43) });
  const { rows } = await tenants.database.query(
    `SELECT action, outcome, actor_kind AS actor, data->>'method' AS method FROM audit_log
       WHERE target_id = $1 OR (action = 'console.sign_in' AND outcome = 'failure') ORDER BY id`,
    [application.client_id],
  );
  expect(rows).toEqual(
    expect.arrayContaining([
      { action: 'console.sign_in', outcome: 'success', actor: 'application', method: 'client_secret' },
      { action: 'auth.token.issued', outcome: 'success', actor: 'application', method: 'client_credentials' },
      { action: 'console.sign_out', outcome: 'success', actor: 'application', method: null },
      { action: 'console.sign_in', outcome: 'failure', actor: 'anonymous', method: 'code' },
    ]),
  );
});
