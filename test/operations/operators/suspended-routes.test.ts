// What a suspended tenant is still served: every route of the service is asked, with the real table and a token that
// would be good.
import { afterAll, expect, it } from 'vitest';
import type { Route } from '../../../src/platform/http/route.ts';
import { MANAGEMENT_SCOPES } from '../../../src/platform/scopes.ts';
import { loadAllRoutes } from '../../platform/http/route-table.ts';
import { startTestServer, tenantNamed, tokenFor } from '../../platform/http/test-server.ts';

/** What others need to know which tokens and keys to refuse. */
const SERVED = [
  'getAgentJwks',
  'getEventJwks',
  'getIssuerMetadata',
  'getJwks',
  'getKeyDirectory',
  'getOpenIdConfiguration',
  'getResourceMetadata',
  'getSsfConfiguration',
  'getWebhookJwks',
  'introspectToken',
  'revokeToken',
];

const routes = await loadAllRoutes();
const server = await startTestServer(routes, {
  tenants: {
    bySlug: async (slug) => ({
      ...tenantNamed(slug),
      ...(slug === 'demo' ? { suspended: true as const } : {}),
    }),
  },
});
afterAll(() => server.drain(0));

const authorization = `Bearer ${tokenFor('agent', 'openid', ...MANAGEMENT_SCOPES)}`;
const ask = ({ method, path }: Route, prefix = '') =>
  server.send(method, prefix + path.replaceAll(/:\w+/g, '0190a5c6-0000-7000-8000-000000000001'), undefined, {
    authorization,
  });

it('every route refuses it, with or without a token, but those by which its tokens are refused', async () => {
  const served: string[] = [];
  for (const route of routes) {
    const { status, body } = await ask(route);
    const isRefused = status === 403 && body.error === 'policy_denied';
    if (isRefused) expect(body.detail).toBe('The tenant is suspended.');
    else served.push(route.operationId);
  }
  expect(served.sort()).toEqual(SERVED);
});

it('another tenant is refused nothing on its account', async () => {
  for (const route of routes) expect((await ask(route, '/t/acme')).body?.error).not.toBe('policy_denied');
});
