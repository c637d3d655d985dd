// Which workflows an erasure finds in Temporal, also those that were started while it had no search attributes.
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { afterAll, expect, inject, it } from 'vitest';
import { createTenantHistories } from '../../../src/operations/erasure/tenant-history.client.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/platform/temporal/names.ts';
import { makeNamespace } from '../../setup/namespace.ts';
import { eventually, installRuntimeOnce } from '../../workflows/delivery-engine.ts';

installRuntimeOnce();
const namespace = await makeNamespace('histories');
const connection = await Connection.connect({ address: inject('temporalAddress') });
const client = new Client({ connection, namespace });
afterAll(() => connection.close());

async function listAll(): Promise<string[]> {
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list()) ids.push(workflowId);
  return ids.toSorted();
}

it('finds the workflows of a tenant that have no search attribute, of each type, and no others', async () => {
  const [tenantId, otherId] = [randomUUID(), randomUUID()];
  const start = (workflowId: string, type: string, of: string, indexed: boolean) =>
    client.workflow.start(type, {
      workflowId,
      taskQueue: 'nobody',
      args: [{ tenantId: of, id: randomUUID(), indexed }],
      ...(indexed ? { typedSearchAttributes: [{ key: SEARCH_ATTRIBUTES.tenantId, value: of }] } : {}),
    });
  await Promise.all([
    start('delivery/marked', 'webhookDelivery', tenantId, true),
    start('delivery/unmarked', 'webhookDelivery', tenantId, false),
    start('endpoint/unmarked', 'endpointRecovery', tenantId, false),
    start('erasure/unmarked', 'tenantErasure', tenantId, false),
    start('delivery/other', 'webhookDelivery', otherId, false),
    start('endpoint/other', 'endpointRecovery', otherId, true),
  ]);
  const ended = await start('delivery/ended', 'webhookDelivery', tenantId, false);
  await ended.terminate();
  await eventually(async () => (await listAll()).length === 7, 'the list of Temporal');

  const { remove } = createTenantHistories({ client });
  expect(await remove(tenantId, new AbortController().signal)).toBe(4);
  const left = ['delivery/other', 'endpoint/other', 'erasure/unmarked'];
  await eventually(async () => (await listAll()).length <= left.length, 'the deletions');
  expect(await listAll()).toEqual(left);
  expect(await remove(tenantId, new AbortController().signal)).toBe(0);
});
