// A strict client library of others against the real issuer.
import * as oauth from 'oauth4webapi';
import { describe, expect, it } from 'vitest';
import { provisionTenant } from './accounts.ts';
import { useAccountsServer } from './accounts-server.ts';

const { server } = await useAccountsServer();

const insecure = { [oauth.allowInsecureRequests]: true };

async function discover(issuerUrl: string, algorithm: 'oauth2' | 'oidc') {
  const issuer = new URL(issuerUrl);
  const response = await oauth.discoveryRequest(issuer, { algorithm, ...insecure });
  return oauth.processDiscoveryResponse(issuer, response);
}

describe('oauth4webapi against the issuer', () => {
  it.each([
    ['demo', 'oauth2'],
    ['demo', 'oidc'],
    ['acme', 'oauth2'],
    ['acme', 'oidc'],
  ] as const)('discovers the tenant %s by %s, gets a token and validates it', async (slug, algorithm) => {
    const known = await server.accounts.tenants.bySlug(slug);
    const made = known === undefined ? await provisionTenant(server.accounts, slug) : undefined;
    const tenant = made?.tenant ?? known;
    if (tenant === undefined) throw new Error('no tenant');
    const metadata = await discover(tenant.issuerUrl, algorithm);
    const { application, clientSecret } = await server.accounts.applications.create(
      { requestId: 'r', tenant, address: '192.0.2.1' },
      { name: 'Client', scopes: ['agents:read', 'openid'] },
    );
    const client: oauth.Client = { client_id: application.id };
    const grant = (secret: string) =>
      oauth.clientCredentialsGrantRequest(
        metadata,
        client,
        oauth.ClientSecretBasic(secret),
        new URLSearchParams({ scope: 'agents:read' }),
        insecure,
      );
    const result = await oauth.processClientCredentialsResponse(metadata, client, await grant(clientSecret));
    expect(result).toMatchObject({ token_type: 'bearer', expires_in: 300, scope: 'agents:read' });

    const request = new Request(`${tenant.baseUrl}/api/v1/agents`, {
      headers: { authorization: `Bearer ${result.access_token}` },
    });
    const claims = await oauth.validateJwtAccessToken(metadata, request, tenant.baseUrl, {
      ...insecure,
      signingAlgorithms: ['ES256'],
    });
    expect(claims).toMatchObject({ iss: tenant.issuerUrl, sub: application.id, tenant_id: tenant.id });

    const failure = await oauth
      .processClientCredentialsResponse(metadata, client, await grant(`${clientSecret}x`))
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    expect(failure).toMatchObject({ status: 401, cause: [{ scheme: 'basic' }] });
  });

  it('reads the error code of a refused scope', async () => {
    const { tenant, credentials } = await provisionTenant(server.accounts, 'errors');
    const metadata = await discover(tenant.issuerUrl, 'oauth2');
    const client: oauth.Client = { client_id: credentials.client_id };
    const response = await oauth.clientCredentialsGrantRequest(
      metadata,
      client,
      oauth.ClientSecretBasic(credentials.client_secret),
      new URLSearchParams({ scope: 'admin' }),
      insecure,
    );
    const failure = await oauth
      .processClientCredentialsResponse(metadata, client, response)
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(oauth.ResponseBodyError);
    expect(failure).toMatchObject({ error: 'invalid_scope', status: 400 });
  });
});
