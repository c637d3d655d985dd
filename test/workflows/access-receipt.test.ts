// Receipts followed by their workflow: what it shows, its end, and a month in which a receiver is away.
import { afterAll, describe, expect, it } from 'vitest';
import { readEvents } from '../identity/agents/agent-rooms.ts';
import { createReceiptEngine } from './receipt-engine.ts';
import { advanceClock } from './virtual-clock.ts';

const engine = await createReceiptEngine({ virtual: true });
afterAll(() => engine.close());

const detailsOf = async (id: string): Promise<string> => {
  const description = await engine.workflow(id).describe();
  const { userMetadata } = (await engine.client.workflowService.describeWorkflowExecution({
    namespace: engine.client.options.namespace,
    execution: { workflowId: description.workflowId },
  })) as { userMetadata?: unknown };
  return JSON.stringify([await engine.workflow(id).query('__temporal_workflow_metadata'), userMetadata]);
};

describe('a receipt', () => {
  it('shows who has acknowledged, and ends when all have', async () => {
    const { id, agentId, subscriptions } = await engine.suspend(3);
    await engine.waits(id);
    await engine.end(id, 'delivered', subscriptions[0]);
    await engine.end(id, 'delivered', subscriptions[1]);
    expect(await engine.waits(id, 2)).toMatchObject({ status: 'waiting', receivers: 3 });
    expect(await detailsOf(id)).toMatch(
      /2 of 3 receivers have acknowledged, the last after \d+\.\d s; 1 is waiting\./,
    );
    await engine.end(id, 'delivered');
    expect(await engine.endOf(id)).toEqual({ status: 'acknowledged', receivers: 3, acknowledged: 3 });
    const receipt = await engine.services.receipts.get(engine.context, { agentId, id });
    expect(receipt.completedAt).toBeInstanceOf(Date);
    expect(receipt.receivers.every(({ acknowledgedAt }) => acknowledgedAt instanceof Date)).toBe(true);
  });

  it('tells of its end once, with who has not acknowledged', async () => {
    await engine.database.query("UPDATE subscriptions SET filters = '{}' WHERE deleted_at IS NULL");
    const { id, subscriptions } = await engine.suspend(2);
    await engine.database.query(
      "UPDATE subscriptions SET filters = '{admin.agent.receipt.completed}' WHERE id = $1",
      [subscriptions[0]],
    );
    await engine.waits(id);
    await engine.end(id, 'delivered', subscriptions[0]);
    await engine.end(id, 'failed', subscriptions[1]);
    expect(await engine.endOf(id)).toMatchObject({ status: 'unacknowledged', acknowledged: 1 });
    await engine.services.receipts.complete({ tenantId: engine.context.tenant.id, id });
    const told = (await readEvents(engine.database, engine.context.tenant.id)).filter(
      ({ type }) => type === 'admin.agent.receipt.completed',
    );
    expect(told.map(({ data }) => data)).toMatchObject([
      {
        receipt_id: id,
        cause: 'admin.agent.suspended',
        status: 'unacknowledged',
        receivers: 2,
        acknowledged: 1,
      },
    ]);
  });

  it('of which nobody is told is complete, and needs no workflow', async () => {
    await engine.database.query("UPDATE subscriptions SET filters = '{}'");
    const { id, agentId } = await engine.suspend(0);
    const receipt = await engine.services.receipts.get(engine.context, { agentId, id });
    expect(receipt).toMatchObject({ status: 'no_receivers', acknowledged: 0, receivers: [] });
    expect(receipt.completedAt).not.toBeNull();
    await expect(engine.workflow(id).describe()).rejects.toThrow();
  });

  it('waits for a receiver that is away for days, seldom, and says that it is held', async () => {
    const { id } = await engine.suspend(1, { active: false });
    await engine.waits(id);
    await advanceClock(engine.database, 10 * 86_400_000);
    const name = { tenantId: engine.context.tenant.id, id };
    expect(await engine.services.receipts.look(name)).toMatchObject({
      step: { kind: 'wait', delayMs: 3_600_000 },
      text: '0 of 1 receiver has acknowledged; 1 is held.',
    });
    await advanceClock(engine.database, 22 * 86_400_000);
    expect((await engine.services.receipts.look(name)).step).toEqual({ kind: 'complete' });
  });
});
