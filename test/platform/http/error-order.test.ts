// The order of errors on every known route: 401, 403, 404, then what is wrong with the body or the idempotency key. The
// whole table, wired for real.
import { afterAll, describe, expect, it } from 'vitest';
import { wireApi } from '../../../src/app/wiring/api.ts';
import type { Agent } from '../../../src/identity/agents/agent.service.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import type { Route } from '../../../src/platform/http/route.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { openPlatform } from '../../../src/platform/opening/platform.ts';
import { PATIENT, useTestDatabase } from '../../setup/database.ts';
import { createTenantContext } from '../../webhooks/intake/fixture.ts';
import { loadAllRoutes } from './route-table.ts';
import { ERROR_TYPE_BASE, startTestServer, type TestServer, tokenFor } from './test-server.ts';

const hasTarget = ({ path, request, idempotent }: Route) =>
  path.includes(':') && (request?.body !== undefined || idempotent === true);
const TABLE = (await loadAllRoutes()).filter(hasTarget);

const { database, url } = await useTestDatabase();
const config = loadConfig({ DATABASE_URL: url, LOG_LEVEL: 'silent' }, { role: 'migrate' });
const logger = createLogger(config);
const platform = openPlatform(config, { logger, name: 'test', limits: PATIENT });
const { routes, close: closeRooms } = wireApi(platform);
const { tenant } = await createTenantContext(database);
const tenantId = tenant.id;
// An idempotency key that the caller has used on every one of these routes.
await database.query(
  `INSERT INTO idempotency_keys (tenant_id, principal, route, key, request_digest, status, headers)
     SELECT $1, $2, route, 'used', '\\x00', 201, '{}' FROM unnest($3::text[]) AS route`,
  [tenantId, `application:${tenant.slug}-app`, TABLE.map(({ operationId }) => operationId)],
);
const server = await startTestServer(routes, { database, tenants: { bySlug: async () => tenant } });
afterAll(async () => {
  await server.drain(0);
  await closeRooms();
  await platform.close();
});

const token = (route: Route) => ({ authorization: `Bearer ${tokenFor('app', route.scope ?? '')}` });
/** The route with an id that is well formed and unknown in each place, or with the given one in the first. */
const pathOf = ({ path }: Route, first = newId()) =>
  path.replace(/:\w+/, first).replaceAll(/:\w+/g, () => newId());

const LISTS = (await loadAllRoutes()).filter(
  ({ path, request }) => path.includes(':') && Object.keys(request?.query?.shape ?? {}).length > 0,
);

/**
 * Every error has its six fields and the request's id, whatever it is about. Source: Specification, "Errors: Format".
 */
function expectProblem({ status, headers, body }: Awaited<ReturnType<TestServer['send']>>): void {
  const text = expect.stringMatching(/./);
  expect(body).toEqual({
    type: `${ERROR_TYPE_BASE}/${body.error.replaceAll('_', '-')}`,
    title: text,
    status,
    detail: text,
    error: text,
    error_description: body.detail,
    request_id: headers.get('x-request-id'),
  });
}

describe.each(LISTS.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  it.each(['', 'malformed'])('answers 404 for an unknown id, before it looks at the query', async (first) => {
    const path = `${pathOf(route, first || newId())}?limit=0&unknown=1`;
    const { status, body } = await server.send(route.method, path, undefined, token(route));
    expect([status, body.error]).toEqual([404, 'not_found']);
  });
});

describe.each(TABLE.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
  const send = async (body: unknown, headers: Record<string, string>, first?: string) => {
    const answer = await server.send(route.method, pathOf(route, first), body, headers);
    expectProblem(answer);
    return answer;
  };

  it('asks whether its target exists', () => {
    expect(route.exists).toBeTypeOf('function');
  });

  it('refuses nobody, then somebody without the scope, before it says what exists', async () => {
    expect((await send('{', {})).status).toBe(401);
    const headers = { authorization: `Bearer ${tokenFor('app', 'openid')}` };
    expect((await send('{', headers)).status).toBe(403);
  });

  it.each([
    ['that is no JSON', '{', {}],
    ['of another type', 'a=b', { 'content-type': 'text/plain' }],
    ['with an unknown field', { unknown: true }, {}],
    ['too long', `"${'x'.repeat(2 ** 20)}"`, {}],
    ['and an idempotency key that was used for another request', {}, { 'idempotency-key': 'used' }],
    ['and a malformed idempotency key', {}, { 'idempotency-key': 'x'.repeat(256) }],
  ])('answers 404 for an unknown id with a body %s', async (_name, body, headers) => {
    const answers = [await send(body, { ...token(route), ...headers })];
    answers.push(await send(body, { ...token(route), ...headers }, 'malformed'));
    for (const answer of answers) expect([answer.status, answer.body.error]).toEqual([404, 'not_found']);
    expect(answers[0]?.body.detail).toBe(answers[1]?.body.detail);
  });
});

it('looks at the body of what exists', async () => {
  const headers = {
    authorization: `Bearer ${tokenFor('app', 'agents:write', 'agents:capabilities', 'agents:impersonate')}`,
  };
  const { body: agent } = await server.send('POST', '/api/v1/agents', { name: 'Robot' }, headers);
  const path = `/api/v1/agents/${(agent as Agent).id}`;
  expect((await server.send('PATCH', path, '{', headers)).status).toBe(400);
  const reused = { ...headers, 'idempotency-key': 'used' };
  const key = { algorithm: 'ed25519', public_key: '00' };
  expect((await server.send('POST', `${path}/keys`, key, reused)).status).toBe(422);
});
