// Which tenant an address names, and what remains of the path.
import { describe, expect, it } from 'vitest';
import { createTenantLocator } from '../../../src/platform/http/tenant-locator.ts';

const inPath = createTenantLocator({ defaultTenant: 'demo', tenantUrl: 'https://id.example/t/{tenant}' });
const inLongPath = createTenantLocator({
  defaultTenant: undefined,
  tenantUrl: 'https://id.example/a/{tenant}/b',
});
const inHost = createTenantLocator({ defaultTenant: 'demo', tenantUrl: 'https://{tenant}.id.example:8443' });
const inHostBelow = createTenantLocator({
  defaultTenant: 'demo',
  tenantUrl: 'https://{tenant}.id.example/auth',
});
const host = 'id.example';

describe('tenants by path', () => {
  it.each([
    ['/api/v1/agents', 'demo', '/api/v1/agents'],
    ['/', 'demo', '/'],
    ['/t/acme/api/v1/agents', 'acme', '/api/v1/agents'],
    ['/t/acme', 'acme', '/'],
    ['/t/acme/', 'acme', '/'],
    ['/t/acme/.well-known/openid-configuration', 'acme', '/.well-known/openid-configuration'],
    ['/.well-known/openid-configuration', 'demo', '/.well-known/openid-configuration'],
    ['/.well-known/openid-configuration/t/acme', 'acme', '/.well-known/openid-configuration'],
    ['/.well-known/oauth-authorization-server/t/acme', 'acme', '/.well-known/oauth-authorization-server'],
    ['/.well-known/oauth-authorization-server/t/acme/', 'acme', '/.well-known/oauth-authorization-server'],
    ['/.well-known/oauth-protected-resource/t/acme', 'acme', '/.well-known/oauth-protected-resource'],
    ['/t/acme/.well-known/oauth-protected-resource', 'acme', '/.well-known/oauth-protected-resource'],
    ['/t/demo/api', undefined, '/api'],
    ['/t/ACME/api', undefined, '/api'],
    ['/t/a_b/api', undefined, '/api'],
    ['/t/-a/api', undefined, '/api'],
    ['/t/%61cme/api', undefined, '/api'],
    ['/t//api', 'demo', '/t//api'],
    ['/t', 'demo', '/t'],
    ['/tacme/api', 'demo', '/tacme/api'],
    ['/.well-known/jwks.json/t/acme', 'demo', '/.well-known/jwks.json/t/acme'],
    ['/.well-known/openid-configuration/t/acme/x', 'demo', '/.well-known/openid-configuration/t/acme/x'],
  ])('reads %s', (path, slug, rest) => {
    expect(inPath(host, path)).toEqual({ slug, path: rest });
  });

  it('serves nobody at the root when there is no default tenant', () => {
    expect(inLongPath(host, '/api')).toEqual({ slug: undefined, path: '/api' });
    expect(inLongPath(host, '/a/acme/b/api')).toEqual({ slug: 'acme', path: '/api' });
    expect(inLongPath(host, '/a/acme/bapi').slug).toBeUndefined();
    expect(inLongPath(host, '/.well-known/openid-configuration/a/acme/b')).toEqual({
      slug: 'acme',
      path: '/.well-known/openid-configuration',
    });
  });
});

describe('tenants by host', () => {
  it.each([
    ['acme.id.example', 'acme', '/x'],
    ['ACME.id.example:8443', 'acme', '/x'],
    ['demo.id.example', undefined, '/x'],
    ['a.b.id.example', undefined, '/x'],
    ['id.example', 'demo', '/x'],
    ['acme.id.example.evil.test', 'demo', '/x'],
    ['127.0.0.1:8080', 'demo', '/x'],
    ['', 'demo', '/x'],
  ])('reads %s', (name, slug, rest) => {
    expect(inHost(name, '/x')).toEqual({ slug, path: rest });
  });

  it('takes a path below the host off', () => {
    expect(inHostBelow('acme.id.example', '/auth/oauth/token')).toEqual({
      slug: 'acme',
      path: '/oauth/token',
    });
    expect(inHostBelow('acme.id.example', '/oauth/token').slug).toBeUndefined();
    expect(inHostBelow('acme.id.example', '/.well-known/oauth-authorization-server/auth')).toEqual({
      slug: 'acme',
      path: '/.well-known/oauth-authorization-server',
    });
  });
});
