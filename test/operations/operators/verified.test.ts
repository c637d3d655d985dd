// What operators did stands in the sealed audit log of each tenant concerned: who edits or removes it is found.
import { expect, it } from 'vitest';
import { createSealing, tamper } from '../../audit/sealing.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createTenantContext, insertSubscription } from '../../webhooks/intake/fixture.ts';
import { createOperatorRooms } from './operator-rooms.ts';

const test = await useTestDatabase();
const rooms = createOperatorRooms(test.database);
const sealing = createSealing(test.database);

it('an edited reason of an operator is found by the verification of the audit log', async () => {
  for (let count = 0; count < 2; count += 1) {
    const context = await createTenantContext(test.database);
    await insertSubscription(test.database, context, { filters: ['*'] });
  }
  const why = ['--reason', 'it asked us to stop', '--as', 'jo'];
  await rooms.run('operator', 'host', 'hold', 'example.com', ...why);
  await sealing.sealAll();
  expect(await sealing.verify()).toMatchObject({ findings: [], report: { tenants: 2, rows: 2 } });
  await tamper(test.database, [
    `UPDATE audit_log SET data = jsonb_set(data, '{reason}', '"another"')
     WHERE id = (SELECT id FROM audit_log WHERE action = 'webhook.host.held' ORDER BY id LIMIT 1)`,
  ]);
  const { report } = await sealing.verify();
  expect(report.findings).toBeGreaterThan(0);
});
