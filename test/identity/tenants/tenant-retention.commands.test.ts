// `countersign tenant retention` as an operator calls it.
import { expect, it } from 'vitest';
import { createOperatorRooms } from '../../operations/operators/operator-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';

const { database } = await useTestDatabase();
const rooms = createOperatorRooms(database);

it('shows the days of a tenant, sets them within the bounds, and takes them back', async () => {
  const { id } = await rooms.tenants.create({ slug: 'kept' });
  const retention = (...options: string[]) => rooms.run('tenant', 'retention', 'kept', ...options);
  const unset = [
    "deliveries: 30 days (the operator's; 2 to 30)",
    "events: 30 days (the operator's; 2 to 30)",
    "addresses in the audit log: for ever (the operator's; 1 to for ever)",
  ];
  expect(await retention()).toEqual(unset);
  expect(await retention('--deliveries-days', '7', '--audit-addresses-days', '90')).toEqual([
    'deliveries: 7 days (its own; 2 to 30)',
    unset[1],
    'addresses in the audit log: 90 days (its own; 1 to for ever)',
  ]);
  const [json = ''] = await retention('--json');
  expect(JSON.parse(json)).toMatchObject({
    tenant_id: id,
    retention: { deliveries_days: 7, events_days: 30, audit_addresses_days: 90 },
    retention_bounds: { deliveries_days: { least: 2, most: 30 } },
  });
  const { rows } = await database.query<{ actor_kind: string }>(
    `SELECT actor_kind FROM audit_log WHERE tenant_id = $1 AND action = 'tenant.updated'`,
    [id],
  );
  expect(rows).toHaveLength(1);

  await expect(retention('--deliveries-days', '1')).rejects.toThrow('--deliveries-days: must be 2 to 30');
  await expect(retention('--events-days', '5')).rejects.toThrow(/^--events-days: must be at least .* 7:/);
  await expect(retention('--events-days', 'x')).rejects.toThrow(/number of days/);
  expect(await retention('--deliveries-days', 'default', '--audit-addresses-days', 'default')).toEqual(unset);
});
