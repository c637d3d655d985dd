// A user whose name stands nowhere else: where it is found in tables, Temporal, logs and traces after everything that
// can name a user.
import { type Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { createTemporalClient } from '../../../src/platform/temporal/client.ts';
import { readRows, readTemporal } from '../../redaction/places.ts';
import { type Processes, startProcesses } from '../../redaction/processes.ts';
import { createSecrets } from '../../redaction/secrets.ts';
import { takePort } from '../../setup/ports.ts';
import { eventually, installRuntimeOnce } from '../../workflows/delivery-engine.ts';
import { inventUser, liveAsUser, openTenant } from './named-user.ts';

let processes: Processes;
let connection: Connection;
let client: Client;

beforeAll(async () => {
  installRuntimeOnce();
  processes = await startProcesses(createSecrets(), { TRUSTED_PROXIES: '127.0.0.0/8' });
  connection = await Connection.connect({ address: inject('temporalAddress') });
  client = createTemporalClient(connection, processes);
});
afterAll(async () => {
  await processes?.stop();
  await processes?.close();
  await connection?.close();
});

const user = inventUser();

const tablesWithUser = async () =>
  [...(await readRows(processes.database))]
    .flatMap(([table, text]) => {
      const found = user.findIn(text);
      return found.length === 0 ? [] : [`${table.replace(/_\d{8}$/, '')}: ${found.join(', ')}`];
    })
    .sort();

it('a user stands where everything that can name a user has left them', async () => {
  const tenant = await openTenant(processes);
  user.noteDigest(processes.tenant.tenant_id);
  const webhook = await tenant.manage('POST', '/webhooks', {
    url: `http://127.0.0.1:${await takePort()}/hook`,
    event_types: [
      'admin.delegation.revoked',
      'auth.token.issued',
      'auth.token.revoked',
      'auth.login.failure',
    ],
  });
  await liveAsUser(tenant, user);
  await eventually(async () => {
    const { rows } = await processes.database.query(
      'SELECT 1 FROM deliveries WHERE subscription_id = $1 AND started_generation IS NOT NULL',
      [webhook.id],
    );
    return rows.length > 0;
  }, 'a workflow of a delivery');
  expect(await tablesWithUser()).toEqual([
    'audit_log: address, digest, name',
    'delegations: name',
    'events: address, digest, name',
    'idempotency_keys: digest, name',
  ]);
  expect((await readTemporal(client)).flatMap((one) => user.findIn(one))).toEqual([]);
  await processes.stop();
  const logs = processes.logs();
  expect(logs).toContain('"level":"debug"');
  expect(user.findIn(logs)).toEqual(['address']);
  expect(user.findIn(processes.traces())).toEqual([]);
});
