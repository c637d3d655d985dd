// tenantErasure with everything real: a tenant that ends waits, comes back, or is erased with its workflows.
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from './delivery-engine.ts';
import { createErasureEngine } from './erasure-engine.ts';

const engine = await createErasureEngine();
afterAll(() => engine.close());

const listed = async (tenantId: string): Promise<string[]> => {
  const ids: string[] = [];
  for await (const { workflowId } of engine.client.workflow.list({ query: `TenantId = '${tenantId}'` }))
    ids.push(workflowId);
  return ids;
};

describe('tenantErasure', () => {
  it('waits for 30 days, at most a day at a time, and says until when', async () => {
    const { id, slug } = await engine.end();
    const state = await engine.waits(id);
    expect(state).toMatchObject({ status: 'ending', removed: 0, eraseAt: expect.stringMatching(/Z$/) });
    expect(Date.parse(state.eraseAt ?? '') - Date.now()).toBeGreaterThan(29 * 86_400_000);
    await engine.restore(slug);
    expect(await engine.workflow(id).result()).toEqual({ status: 'restored' });
    expect((await engine.rooms.tenants.bySlug(slug))?.suspended).toBeUndefined();
  });

  it('erases the tenant when its time is over, with the histories of its other workflows', async () => {
    const { id } = await engine.end();
    await engine.waits(id);
    // One that runs and has no worker: it is terminated.
    await engine.starter.tell({ tenantId: id, workflow: 'issuerKeyRotation', entityId: id });
    await eventually(async () => (await listed(id)).length === 2, 'both in the list');
    await engine.letTimePass(id);
    expect(await engine.workflow(id).result()).toEqual({ status: 'erased' });
    expect(await listed(id)).toEqual([`erasure/${id}`]);
    const { note } = await engine.rooms.certificates.show(id);
    expect(note).toContain('\nremoved workflows 1\n');
  });
});
