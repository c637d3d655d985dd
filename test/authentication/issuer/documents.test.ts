// The issuer's public documents over HTTP.
import { describe, expect, it } from 'vitest';
import { provisionTenant } from '../tokens/accounts.ts';
import { useAccountsServer } from '../tokens/accounts-server.ts';

const { server } = await useAccountsServer();

await provisionTenant(server.accounts, 'demo');
await provisionTenant(server.accounts, 'acme');

describe('the JWK set', () => {
  it('may be cached for less time than a new key is published before it signs', async () => {
    const response = await fetch(`${server.origin}/.well-known/jwks.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/jwk-set+json');
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect((await response.json()).keys).toHaveLength(1);
  });

  it('is not sent again to a client that has it', async () => {
    const url = `${server.origin}/.well-known/jwks.json`;
    const etag = (await fetch(url)).headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await fetch(url, { headers: { 'if-none-match': known } });
      expect([response.status, await response.text()]).toEqual([304, '']);
      expect(response.headers.get('etag')).toBe(etag);
      expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    }
    expect((await fetch(url, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    expect((await fetch(`${server.origin}/t/acme/.well-known/jwks.json`)).headers.get('etag')).not.toBe(etag);
  });
});

describe('the metadata', () => {
  it.each([
    ['/.well-known/oauth-authorization-server', ''],
    ['/.well-known/openid-configuration', ''],
    ['/t/acme/.well-known/oauth-authorization-server', '/t/acme'],
    ['/.well-known/oauth-authorization-server/t/acme', '/t/acme'],
    ['/.well-known/openid-configuration/t/acme', '/t/acme'],
  ])('at %s is that of the issuer', async (path, issuerPath) => {
    const issuer = `${server.origin}${issuerPath}`;
    const response = await fetch(server.origin + path);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      issuer,
      token_endpoint: `${issuer}/oauth/token`,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'EdDSA'],
    });
  });

  it('names nothing that does not answer, and no grant or method that is refused', async () => {
    const metadata = await (await fetch(`${server.origin}/.well-known/oauth-authorization-server`)).json();
    for (const [name, value] of Object.entries(metadata)) {
      if (!name.endsWith('_endpoint') && !name.endsWith('_uri')) continue;
      const { status } = await fetch(String(value));
      expect(name === 'authorization_endpoint' ? [400] : [200, 401, 405], name).toContain(status);
    }
    expect(await (await fetch(metadata.authorization_endpoint)).json()).toMatchObject({
      error: 'unsupported_response_type',
      detail: expect.stringContaining('client_credentials'),
    });
    const { credentials, authorization } = await provisionTenant(server.accounts, 'truth');
    for (const grant of metadata.grant_types_supported) {
      const form = `grant_type=${grant}&scope=${metadata.scopes_supported.join('+')}`;
      const response = await server.requestToken(credentials.issuer_url, form, { authorization });
      expect((await response.json()).error).toBe(
        {
          client_credentials: undefined,
          refresh_token: 'invalid_client',
          'urn:ietf:params:oauth:grant-type:token-exchange': 'invalid_request',
          'urn:ietf:params:oauth:grant-type:jwt-bearer': 'invalid_client',
        }[String(grant)],
      );
    }
    const methods = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'];
    expect(metadata.token_endpoint_auth_methods_supported).toEqual([...methods, 'none']);
    for (const endpoint of ['introspection', 'revocation'])
      expect(metadata[`${endpoint}_endpoint_auth_methods_supported`]).toEqual(methods);
    expect(metadata.response_types_supported).toEqual([]);
  });
});
