// What the service makes in Temporal, and what it does where it cannot.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { urlOfView, viewsOf } from '../../../src/app/local/invitation.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import {
  createLazyConnection,
  createTemporalClient,
  probeTemporal,
} from '../../../src/platform/temporal/client.ts';
import { createEntityStarter } from '../../../src/platform/temporal/entity.client.ts';
import { deliveryWorkflowId, SEARCH_ATTRIBUTES, workflowUrl } from '../../../src/platform/temporal/names.ts';
import { ensureNamespace, knowsSearchAttributes } from '../../../src/platform/temporal/namespace.ts';
import { DeliveryStarter } from '../../../src/webhooks/relay/delivery-workflow.client.ts';
import { eventually } from '../../workflows/delivery-engine.ts';

describe('names', () => {
  it('are in the views of the documentation, and in their addresses', () => {
    const [, , , tenant] = viewsOf('acme');
    const page = readFileSync('docs/operations/README.md', 'utf8');
    for (const { query } of viewsOf('acme')) expect(page).toContain(query);
    const url = urlOfView('http://ui/workflows', tenant ?? { name: '', query: '' });
    expect(url).toBe('http://ui/workflows?query=TenantSlug%3D%22acme%22');
  });

  it('has one workflow id a generation', () => {
    expect(deliveryWorkflowId('019a', 0)).toBe('delivery/019a');
    expect(deliveryWorkflowId('019a', 2)).toBe('delivery/019a/2');
  });

  it('links to the Web UI with the id as one path segment', () => {
    const url = workflowUrl({ uiUrl: 'http://localhost:8233', namespace: 'countersign' }, 'delivery/019a/1');
    expect(url).toBe('http://localhost:8233/namespaces/countersign/workflows/delivery%2F019a%2F1');
  });
});

describe('the namespace', () => {
  let connection: Connection;
  beforeAll(async () => {
    connection = await Connection.connect({ address: inject('temporalAddress') });
  });
  afterAll(() => connection.close());

  it('is made with 30 days of retention and the search attributes, and making it again changes nothing', async () => {
    const namespace = `made-${randomUUID()}`;
    expect(await ensureNamespace(connection, { namespace })).toBe('ok');
    expect(await ensureNamespace(connection, { namespace })).toBe('ok');
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 86_400);
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    for (const { name } of Object.values(SEARCH_ATTRIBUTES)) expect(customAttributes).toHaveProperty(name);
  });

  it('gets a longer retention where it is too short', async () => {
    const namespace = `short-${randomUUID()}`;
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 } as never,
    });
    await ensureNamespace(connection, { namespace });
    const { config } = await connection.workflowService.describeNamespace({ namespace });
    expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(30 * 86_400);
  });

  it('takes workflows without search attributes where it does not know them', async () => {
    const namespace = `bare-${randomUUID()}`;
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: 86_400 } as never,
    });
    const native = await NativeConnection.connect({ address: inject('temporalAddress') });
    const client = createTemporalClient(native, { namespace });
    const starter = new DeliveryStarter({
      client,
      taskQueues: { main: 'none', attempts: 'none', slow: 'none' },
    });
    const deliveryId = randomUUID();
    const request = {
      deliveryId,
      generation: 0,
      tenantId: 't',
      subscriptionId: 's',
      eventType: 'org.created',
      host: 'example.com',
      n: 1,
      local: false,
    };
    try {
      const known = await knowsSearchAttributes(connection, namespace);
      const outcome = await starter.start(request);
      expect({ known, outcome, indexed: starter.isIndexed() }).toEqual({
        known: false,
        outcome: 'started',
        indexed: false,
      });
      const entities = createEntityStarter({ client, taskQueue: 'none' });
      const entity = { tenantId: 't', entityId: randomUUID(), agentId: 'a', summary: 'ed25519 · 00' };
      for (let n = 0; n < 2; n++) await entities.tell({ ...entity, workflow: 'agentKeyRotation' });
      expect(entities.isIndexed()).toBe(false);
      const { runId } = await client.workflow.getHandle(`key-rotation/${entity.entityId}`).describe();
      expect(runId).toEqual(expect.any(String));
    } finally {
      await native.close();
    }
  });

  it('knows the views that operators are shown, and finds workflows by the name of their tenant', async () => {
    const namespace = inject('temporalNamespace');
    const native = await NativeConnection.connect({ address: inject('temporalAddress') });
    const client = createTemporalClient(native, { namespace });
    const slug = `slug-${randomUUID().slice(0, 8)}`;
    const presenter = {
      docsUrl: 'https://docs.example/countersign',
      tenantOf: async () => ({ slug, baseUrl: 'https://id.example' }),
    };
    const entityId = randomUUID();
    const agentId = randomUUID();
    try {
      for (const { query } of viewsOf(slug))
        expect((await client.workflow.count(query)).count).toBeGreaterThanOrEqual(0);
      const entities = createEntityStarter({ client, taskQueue: 'none', presenter });
      const entity = { tenantId: randomUUID(), entityId, agentId, summary: 'ed25519 · 00' };
      await entities.tell({ ...entity, workflow: 'agentKeyRotation' });
      const [, , , ofTenant] = viewsOf(slug);
      await eventually(
        async () => (await client.workflow.count(ofTenant?.query ?? '')).count === 1,
        'its visibility',
      );
      const { raw } = await client.workflow.getHandle(`key-rotation/${entityId}`).describe();
      const details = Buffer.from(raw.executionConfig?.userMetadata?.details?.data ?? []).toString();
      expect(JSON.parse(details)).toBe(
        `Tenant \`${slug}\` · [What one can do](https://docs.example/countersign/operations/agent-key-rotation.md) · [API record](https://id.example/api/v1/agents/${agentId}/keys/${entityId})`,
      );
      // A tenant that cannot be read costs the workflow its names only.
      const away = { tenantOf: () => Promise.reject(new Error('away')) };
      const nameless = createEntityStarter({ client, taskQueue: 'none', presenter: away });
      const other = { ...entity, entityId: randomUUID() };
      await nameless.tell({ ...other, workflow: 'agentKeyRotation' });
      await client.workflow.getHandle(`key-rotation/${other.entityId}`).terminate();
    } finally {
      await client.workflow
        .getHandle(`key-rotation/${entityId}`)
        .terminate()
        .catch(() => undefined);
      await native.close();
    }
  });

  it('is found by the probe, and its absence and a silent server are too', async () => {
    const settings = (address: string) =>
      loadConfig({ TEMPORAL_ADDRESS: address }, { role: 'migrate' }).temporal;
    const there = createLazyConnection(settings(inject('temporalAddress')));
    const nowhere = createLazyConnection(settings('127.0.0.1:1'));
    try {
      const probe = (connection: typeof there, namespace: string) =>
        probeTemporal(createTemporalClient(connection, { namespace }));
      expect(await probe(there, inject('temporalNamespace'))).toBe(true);
      expect(await probe(there, `absent-${randomUUID()}`)).toBe(false);
      expect(await probe(nowhere, 'countersign')).toBe(false);
    } finally {
      await Promise.all([there.close(), nowhere.close()]);
    }
  });
});
