// Bearer tokens on management routes (RFC 6750).
import { connect } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { badToken, startTestServer, tokenFor } from '../../platform/http/test-server.ts';

const route = defineRoute({
  method: 'POST',
  path: '/api/v1/agents/:agent_id',
  operationId: 'changeAgent',
  summary: 'Change',
  tag: 'Agents',
  scope: 'agents:write',
  request: { params: z.object({ agent_id: z.uuid() }), body: z.strictObject({ name: z.string() }) },
  responses: { 200: { description: 'ok', schema: z.object({ subject: z.string() }) } },
  errors: [],
  handler: ({ context }) => ({ status: 200, body: { subject: context.principal?.subject } }),
});
const clientRoute = defineRoute({
  method: 'POST',
  path: '/oauth/token',
  operationId: 'requestToken',
  summary: 'Token',
  tag: 'Tokens',
  scope: null,
  clientAuthentication: 'required',
  responses: { 204: { description: 'ok' } },
  errors: ['invalid_request'],
  handler: () => ({ status: 204 }),
});
const agentRoute = defineRoute({
  method: 'GET',
  path: '/auth/agent/self',
  operationId: 'getSelf',
  summary: 'Self',
  tag: 'Agents',
  scope: null,
  subject: 'agent',
  responses: { 204: { description: 'ok' } },
  errors: [],
  handler: () => ({ status: 204 }),
});
const PATH = '/api/v1/agents/0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
const METADATA = 'https://demo.example/.well-known/oauth-protected-resource';
const REALM = `Bearer realm="https://demo.example", resource_metadata="${METADATA}"`;

const server = await startTestServer([route, clientRoute, agentRoute]);
afterAll(() => server.drain(0));

const post = (authorization: string | undefined, path = PATH, body: unknown = { name: 'x' }) =>
  server.send('POST', path, body, authorization === undefined ? {} : { authorization });

describe('a bearer token', () => {
  it.each([
    [undefined, 'required in the Authorization header; POST https://demo.example/oauth/token'],
    [
      tokenFor('app', 'agents:write'),
      'in the form "Bearer <token>", and this one has another form; POST https',
    ],
    ['Basic YTpi', 'in the form "Bearer <token>", and this one has another form; POST https'],
  ])('that is missing is asked for, with its form (%#)', async (authorization, detail) => {
    const { status, body } = await post(authorization);
    expect([status, body.error]).toEqual([401, 'invalid_token']);
    expect(body.detail).toContain(detail);
  });

  it.each(['Bearer', 'bearer', 'BEARER'])('is taken by the scheme %s', async (scheme) => {
    const { status, body } = await post(`${scheme} ${tokenFor('app', 'agents:read', 'agents:write')}`);
    expect(status).toBe(200);
    expect(body.subject).toBe('demo-app');
  });

  it.each([undefined, 'Basic YTpi', 'DPoP abc', 'Bearer', 'Bearertoken'])(
    'that is missing (%s) is asked for without an error attribute',
    async (authorization) => {
      const { status, headers, body } = await post(authorization);
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe(REALM);
      expect(body.error).toBe('invalid_token');
    },
  );

  it.each(['invalid_token', 'token_expired', 'token_revoked'])(
    'that is refused with %s says so in the body, and invalid_token in the header',
    async (code) => {
      const { status, headers, body } = await post(`Bearer ${badToken(`error:${code}`)}`);
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toBe(`${REALM}, error="invalid_token"`);
      expect(body.error).toBe(code);
    },
  );

  it.each(['a b', 'ä', `${'a'.repeat(8_193)}`, 'a=b'])(
    'that is malformed (%.10s) is refused unread',
    async (token) => {
      const { status, headers, body } = await post(`Bearer ${Buffer.from(token).toString('latin1')}`);
      expect(status).toBe(401);
      expect(headers.get('www-authenticate')).toContain('error="invalid_token"');
      expect(body.error).toBe('invalid_token');
    },
  );

  it('that a tab separates from the scheme is malformed', async () => {
    const { status, body } = await post(`Bearer \t${tokenFor('app', 'agents:read', 'agents:write')}`);
    expect([status, body.detail]).toEqual([401, 'The access token is malformed.']);
  });

  it.each([
    ['without the scope', tokenFor('app', 'agents:read')],
    ['for another audience', badToken('error:insufficient_scope')],
  ])('%s gets 403 with the scope that is needed', async (_what, token) => {
    const { status, headers, body } = await post(`Bearer ${token}`);
    expect(status).toBe(403);
    expect(headers.get('www-authenticate')).toBe(
      `${REALM}, error="insufficient_scope", scope="agents:write"`,
    );
    expect(body.error).toBe('insufficient_scope');
  });

  it('of an application is refused where an agent’s is needed, whatever its scopes', async () => {
    const send = (headers: Record<string, string>) =>
      server.send('GET', '/auth/agent/self', undefined, headers);
    const bare = await send({});
    expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([401, REALM]);
    const refused = await send({ authorization: `Bearer ${tokenFor('app', 'openid', 'agents:read')}` });
    expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope']);
    expect(refused.headers.get('www-authenticate')).toBe(`${REALM}, error="insufficient_scope"`);
  });

  it('comes before everything that the route would find wrong', async () => {
    expect((await post(undefined, '/api/v1/agents/nonsense', '{')).status).toBe(401);
    expect((await post(`Bearer ${tokenFor('app')}`, '/api/v1/agents/nonsense', '{')).status).toBe(403);
    expect(
      (await post(`Bearer ${tokenFor('app', 'agents:write')}`, '/api/v1/agents/nonsense', '{')).status,
    ).toBe(404);
    expect((await post(`Bearer ${tokenFor('app', 'agents:write')}`, PATH, '{')).status).toBe(400);
  });

  it('is refused in the query', async () => {
    const token = tokenFor('app', 'agents:write');
    expect((await post(undefined, `${PATH}?access_token=${token}`)).status).toBe(401);
    const both = await post(`Bearer ${token}`, `${PATH}?access_token=${token}`);
    expect(both.status).toBe(400);
    expect(both.body.errors[0].path).toBe('query.access_token');
  });

  it.each(['/oauth/token', PATH])('may not be sent twice, nor client credentials, to %s', async (path) => {
    const socket = connect(server.port, '127.0.0.1');
    const header = `Authorization: Bearer ${tokenFor('app', 'agents:write')}\r\n`;
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${header}${header}\r\n`);
    const answer = Buffer.concat(await socket.toArray()).toString();
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"error":"invalid_request"');
    expect(answer.includes('error="invalid_request"')).toBe(path === PATH);
  });

  it('whose check breaks is a 500 that tells nothing', async () => {
    const { status, text } = await post(`Bearer ${badToken('crash:')}`);
    expect(status).toBe(500);
    expect(text).not.toContain('secret detail');
  });
});
