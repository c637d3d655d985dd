// `countersign tenant limit` as an operator calls it.
import { expect, it } from 'vitest';
import { presentTenant } from '../../../src/identity/tenants/tenant.schemas.ts';
import { createOperatorRooms } from '../../operations/operators/operator-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';

const { database } = await useTestDatabase();
const rooms = createOperatorRooms(database);

it('shows how many subscriptions a tenant may have, sets it, and takes it back', async () => {
  const { id } = await rooms.tenants.create({ slug: 'many' });
  const limit = (...options: string[]) => rooms.run('tenant', 'limit', 'many', ...options);
  const unset = ["subscriptions: at most 1000 (the operator's)"];
  expect(await limit()).toEqual(unset);
  expect(await limit('--subscriptions', '5000')).toEqual(['subscriptions: at most 5000 (its own)']);
  expect(JSON.parse((await limit('--json'))[0] ?? '')).toEqual({
    tenant_id: id,
    slug: 'many',
    subscription_limit: 5_000,
    is_own: true,
  });
  const tenant = await rooms.tenants.bySlug('many');
  expect(tenant?.subscriptionLimit).toBe(5_000);
  const record = await rooms.tenants.get({
    requestId: '',
    address: '',
    tenant: { id, slug: 'many' } as never,
  });
  expect(presentTenant(record, rooms.tenants)).toMatchObject({ subscription_limit: 5_000 });
  const { rows } = await database.query<{ data: unknown }>(
    `SELECT data FROM audit_log WHERE tenant_id = $1 AND action = 'tenant.updated'`,
    [id],
  );
  expect(JSON.stringify(rows)).toContain('5000');
  for (const wrong of ['0', 'x', '1000000'])
    await expect(limit('--subscriptions', wrong)).rejects.toThrow(/number from 1/);
  expect(await limit('--subscriptions', 'default')).toEqual(unset);
});
