// What happens to tenants when the settings give them another address.
import { expect, it } from 'vitest';
import { createAccounts, provisionTenant } from '../../authentication/tokens/accounts.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();

const at = (port: number, defaultTenant = 'demo') =>
  createAccounts(test.database, {
    addresses: {
      publicUrl: `http://localhost:${port}`,
      defaultTenant,
      tenantUrl: `http://localhost:${port}/t/{tenant}`,
    },
  });

it('tenants stay where they are until they are moved, and their earlier tokens end with the move', async () => {
  const before = at(8080);
  const { tenant, credentials } = await provisionTenant(before, 'demo');
  await provisionTenant(before, 'acme');
  expect(await before.tenants.checkTenantAddresses()).toEqual([]);
  expect(await before.tenants.moveAll()).toEqual([]);
  const grant = { sub: credentials.client_id, clientId: credentials.client_id, scopes: ['openid'] };
  const issued = await before.tokens.issueAccessToken(tenant, { ...grant, audience: tenant.baseUrl });

  const after = at(9090);
  expect(await after.tenants.checkTenantAddresses()).toEqual([
    { slug: 'demo', storedUrl: 'http://localhost:8080', configuredUrl: 'http://localhost:9090' },
    {
      slug: 'acme',
      storedUrl: 'http://localhost:8080/t/acme',
      configuredUrl: 'http://localhost:9090/t/acme',
    },
  ]);
  await after.tenants.move('acme');
  expect(await after.tenants.moveAll()).toEqual([
    { slug: 'demo', storedUrl: 'http://localhost:8080', configuredUrl: 'http://localhost:9090' },
  ]);
  expect(await after.tenants.checkTenantAddresses()).toEqual([]);
  const moved = await after.tenants.bySlug('demo');
  expect(moved).toEqual({
    ...tenant,
    baseUrl: 'http://localhost:9090',
    issuerUrl: 'http://localhost:9090',
    audience: 'http://localhost:9090',
  });
  if (moved === undefined) throw new Error('the tenant is gone');
  await expect(after.tokens.authenticate(moved, issued.accessToken)).rejects.toMatchObject({
    code: 'invalid_token',
  });
  const { rows } = await test.database.query(
    "SELECT data FROM audit_log WHERE action = 'tenant.moved' ORDER BY id",
  );
  expect(rows[1]).toEqual({ data: { from: 'http://localhost:8080', to: 'http://localhost:9090' } });
});

it('a tenant is not moved to an address that another still has', async () => {
  await expect(at(9090, 'acme').tenants.move('acme')).rejects.toMatchObject({ code: 'conflict' });
  await expect(at(9090).tenants.move('nobody')).rejects.toMatchObject({ code: 'not_found' });
});

it('all tenants move together, also when one needs the address that another leaves', async () => {
  const moved = await at(9091, 'acme').tenants.moveAll();
  expect(moved.map(({ slug, configuredUrl }) => [slug, configuredUrl])).toEqual([
    ['demo', 'http://localhost:9091/t/demo'],
    ['acme', 'http://localhost:9091'],
  ]);
  const back = await at(9091, 'demo').tenants.moveAll();
  expect(back.map(({ slug }) => slug)).toEqual(['acme', 'demo']);
  expect(await at(9091).tenants.checkTenantAddresses()).toEqual([]);
});
