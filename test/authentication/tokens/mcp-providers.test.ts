// The client-credentials providers of the Model Context Protocol's SDK, unchanged, against this issuer.
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import {
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
} from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { afterAll, expect, it } from 'vitest';
import { readApplicationJwks } from '../../../src/identity/applications/application-jwks.ts';
import { provisionTenant, requestTo } from './accounts.ts';
import { useAccountsServer } from './accounts-server.ts';
import { claimsOf } from './refresh-fixture.ts';

const { server } = await useAccountsServer();

/** An MCP server as far as its metadata go (RFC 9728). */
const mcp = createServer((_request, response) => {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ resource, authorization_servers: [issuer] }));
});

const { tenant } = await provisionTenant(server.accounts, 'acme');
const issuer = tenant.issuerUrl;
await new Promise<void>((resolve) => mcp.listen(0, '127.0.0.1', resolve));
const address = mcp.address();
const resource = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/mcp`;
afterAll(() => new Promise((resolve) => mcp.close(resolve)));

it('ClientCredentialsProvider gets a token', async () => {
  const { application, clientSecret } = await server.accounts.applications.create(requestTo(tenant), {
    name: 'MCP client',
    scopes: ['openid'],
    audience: resource,
  });
  const given = { clientId: application.id, clientSecret, expectedIssuer: issuer };
  const provider = new ClientCredentialsProvider(given);
  expect(await auth(provider, { serverUrl: resource })).toBe('AUTHORIZED');
  expect(claimsOf(provider.tokens()?.access_token ?? '')).toMatchObject({ aud: resource, scope: 'openid' });
});

it.each(['RS256', 'ES256'])('PrivateKeyJwtProvider gets a token with %s', async (algorithm) => {
  const pair =
    algorithm === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = {
    ...pair.publicKey.export({ format: 'jwk' }),
    ...(algorithm === 'RS256' ? { alg: 'RS256' } : {}),
  };
  const { application } = await server.accounts.applications.create(requestTo(tenant), {
    name: 'MCP client with a key',
    scopes: ['openid'],
    audience: resource,
    jwks: readApplicationJwks({ keys: [key] }),
  });
  const provider = new PrivateKeyJwtProvider({
    clientId: application.id,
    privateKey: pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    algorithm,
    expectedIssuer: issuer,
  });
  expect(await auth(provider, { serverUrl: resource })).toBe('AUTHORIZED');
  expect(claimsOf(provider.tokens()?.access_token ?? '')).toMatchObject({ sub: application.id });
});
