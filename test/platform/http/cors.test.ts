// Which routes pages of any origin may call: public documents, and what @countersign/agent calls.
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { isPublicDocument, isReadableAnywhere } from '../../../src/platform/http/cors.ts';
import { defineRoute } from '../../../src/platform/http/route.ts';
import { loadAllRoutes } from './route-table.ts';
import { startTestServer } from './test-server.ts';

const open = {
  tag: 'Test',
  scope: null,
  responses: { 200: { description: 'ok', schema: z.any() } },
} as const;
const server = await startTestServer([
  defineRoute({
    ...open,
    method: 'GET',
    path: '/.well-known/keys.json',
    operationId: 'getKeys',
    summary: 'Keys',
    handler: () => ({ status: 200, body: {} }),
  }),
  defineRoute({
    ...open,
    method: 'POST',
    path: '/agent',
    operationId: 'callAgent',
    summary: 'Call',
    cors: true,
    errors: ['use_dpop_nonce'],
    handler: () => {
      throw new ServiceError('use_dpop_nonce', { headers: { 'dpop-nonce': 'n' } });
    },
  }),
  defineRoute({
    ...open,
    method: 'POST',
    path: '/management',
    operationId: 'manage',
    summary: 'Manage',
    handler: () => ({ status: 200, body: {} }),
  }),
]);
afterAll(() => server.drain(0));

const preflight = async (path: string) =>
  (await server.fetch(path, { method: 'OPTIONS', headers: { origin: 'https://app.example' } })).headers;

describe('a page of another origin', () => {
  it.each(['/.well-known/keys.json', '/agent'])(
    'may call %s with any header, and no cookie',
    async (path) => {
      const headers = await preflight(path);
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-allow-headers')).toBe('*, authorization');
      expect(headers.get('access-control-allow-credentials')).toBeNull();
    },
  );

  it('reads a refusal too, with its nonce', async () => {
    const { status, headers } = await server.fetch('/agent', { method: 'POST' });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([400, '*']);
    expect(headers.get('access-control-expose-headers')).toContain('dpop-nonce');
  });

  it('may not call management', async () => {
    expect((await preflight('/management')).get('access-control-allow-origin')).toBeNull();
  });
});

it('the routes of the service are open to pages as documents, or because an agent calls them', async () => {
  const routes = await loadAllRoutes();
  const called = routes.filter((route) => isReadableAnywhere(route) && !isPublicDocument(route));
  expect(called.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'GET /auth/agent/self',
    'POST /auth/agent/challenge',
    'POST /auth/agent/enroll',
    'POST /auth/agent/keys/rotate',
    'POST /auth/agent/verify',
    'POST /oauth/token',
    'PUT /auth/agent/directory-signature',
  ]);
  const documents = routes.filter(isPublicDocument).map(({ method, path }) => `${method} ${path}`);
  expect(documents.every((name) => /^GET \/(\.well-known\/|agents\/:agent_id\/jwks\.json$)/.test(name))).toBe(
    true,
  );
});
