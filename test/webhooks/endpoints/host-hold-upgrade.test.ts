// Subscriptions that are older than the holds of hosts.
import { expect, it } from 'vitest';
import { hostHolds } from '../../../src/platform/database/migrations/0023-host-holds.ts';
import { createTenantContext, insertSubscription } from '../../events/fixture.ts';
import { useTestDatabase } from '../../setup/database.ts';

const test = await useTestDatabase();

it('subscriptions of before have the host that their mapped address is', async () => {
  const { database } = test;
  const context = await createTenantContext(database);
  const cases: Record<string, string> = {
    '[::ffff:5db8:d822]': '93.184.216.34',
    '[::ffff:5db8:d822]:8443': '93.184.216.34:8443',
    '[::ffff:a00:1]': '10.0.0.1',
    '[::ffff:0:0]:1': '0.0.0.0:1',
    '[::ffff:0:5db8:d822]': '[::ffff:0:5db8:d822]',
    '[2606:4700::1111]:8443': '[2606:4700::1111]:8443',
    'ffff.example': 'ffff.example',
  };
  const ids = new Map<string, string>();
  for (const host of Object.keys(cases)) {
    const id = await insertSubscription(database, context, { filters: ['*'] });
    await database.query('UPDATE subscriptions SET host = $2 WHERE id = $1', [id, host]);
    ids.set(id, host);
  }
  const [step] = hostHolds;
  if (typeof step !== 'string') throw new Error('the first step is no SQL');
  const [canonicalise = ''] = step.split(';', 1);
  await database.query(canonicalise);
  const { rows } = await database.query<{ id: string; host: string }>(
    'SELECT id, host FROM subscriptions WHERE tenant_id = $1',
    [context.tenant.id],
  );
  for (const { id, host } of rows) expect(host).toBe(cases[ids.get(id) ?? '']);
  expect(rows).toHaveLength(ids.size);
});
