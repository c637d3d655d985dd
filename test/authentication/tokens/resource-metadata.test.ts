// Protected resource metadata (RFC 9728): every protected route names it in every challenge, and a library accepts it.
import * as oauth from 'oauth4webapi';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { authorize } from '../../../src/authentication/tokens/bearer.routes.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { type Route, takesToken } from '../../../src/platform/http/route.ts';
import { MANAGEMENT_SCOPES } from '../../../src/platform/scopes.ts';
import { loadAllRoutes } from '../../platform/http/route-table.ts';
import {
  authenticateTestToken,
  badToken,
  startTestServer,
  type TestServer,
  tokenFor,
} from '../../platform/http/test-server.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { provisionTenant } from './accounts.ts';
import { type AccountsServer, startAccountsServer } from './accounts-server.ts';

const ID = '0190a5c6-0000-7000-8000-000000000001';
const PARAMETER = 'resource_metadata="https://demo.example/.well-known/oauth-protected-resource"';

describe('a challenge', () => {
  let routes: Route[];
  let server: TestServer;
  beforeAll(async () => {
    routes = (await loadAllRoutes()).filter(takesToken);
    const verifyProof = async () => {
      throw new ServiceError('use_dpop_nonce', { detail: 'A nonce.' });
    };
    server = await startTestServer(routes, {
      authorize: (route) => authorize(route, authenticateTestToken, { verifyProof }),
    });
  });
  afterAll(() => server?.drain(0));

  const everything = tokenFor('app', 'openid', ...MANAGEMENT_SCOPES);
  it.each([
    ['without a token', undefined, 401, ['Bearer', 'DPoP']],
    ['with a bad token', `Bearer ${badToken('error:invalid_token')}`, 401, ['Bearer']],
    ['with a malformed token', 'Bearer ä', 401, ['Bearer']],
    ['with a token that lacks the scope', `Bearer ${badToken('error:insufficient_scope')}`, 403, ['Bearer']],
    ['with a refused proof', `DPoP ${everything}`, 401, ['DPoP']],
  ])('of every protected route %s names the metadata', async (_what, authorization, status, schemes) => {
    expect(routes.length).toBeGreaterThan(70);
    for (const { method, path, operationId } of routes) {
      const answer = await server.send(method, path.replaceAll(/:\w+/g, ID), undefined, {
        ...(authorization === undefined
          ? {}
          : { authorization: Buffer.from(authorization).toString('latin1') }),
      });
      expect(answer.status, operationId).toBe(status);
      const header = answer.headers.get('www-authenticate') ?? '';
      expect([...header.matchAll(/(?:^|, )(Bearer|DPoP) /g)].map(([, scheme]) => scheme)).toEqual(schemes);
      expect(header.split(PARAMETER), operationId).toHaveLength(schemes.length + 1);
    }
  });
});

describe('the metadata', () => {
  let test: Awaited<ReturnType<typeof createTestDatabase>>;
  let server: AccountsServer;
  beforeAll(async () => {
    test = await createTestDatabase();
    server = await startAccountsServer(test.database);
    await provisionTenant(server.accounts, 'demo');
    await provisionTenant(server.accounts, 'acme');
  });
  afterAll(async () => {
    await server?.close();
    await test?.drop();
  });

  it.each(['', '/t/acme'])(
    'of the tenant at "%s" is accepted by a library, which finds it by the address',
    async (path) => {
      const resource = new URL(server.origin + path);
      const response = await oauth.resourceDiscoveryRequest(resource, {
        [oauth.allowInsecureRequests]: true,
      });
      const found = await oauth.processResourceDiscoveryResponse(resource, response);
      expect(found).toMatchObject({
        authorization_servers: [server.origin + path],
        bearer_methods_supported: ['header'],
        scopes_supported: expect.arrayContaining(['openid', 'agents:read']),
      });
      expect((await fetch(`${server.origin}${path}/.well-known/oauth-protected-resource`)).status).toBe(200);
    },
  );

  it('is at the address that a challenge names, and of the server that names it', async () => {
    const refused = await fetch(`${server.origin}/t/acme/userinfo`);
    const challenges = refused.headers.get('www-authenticate') ?? '';
    const address = /resource_metadata="([^"]+)"/.exec(challenges)?.[1] ?? '';
    expect(await (await fetch(address)).json()).toMatchObject({ resource: `${server.origin}/t/acme` });
  });
});
