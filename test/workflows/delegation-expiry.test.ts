// delegationExpiry with everything real: how a delegation ends on time, by revocation, with its agent and by an
// operator.
import { afterAll, describe, expect, it } from 'vitest';
import { createDelegationEngine } from './delegation-engine.ts';
import { eventually } from './delivery-engine.ts';

const engine = await createDelegationEngine();
afterAll(() => engine.close());

const HOUR = 3_600;
const statusOf = async (id: string) => (await engine.rooms.delegations.get(engine.context, id)).status;

describe('delegationExpiry', () => {
  it('ends a delegation on time, and writes that down once', async () => {
    const one = await engine.begin(3);
    expect(await engine.waits(one.id)).toMatchObject({
      status: 'active',
      expiresAt: one.expiresAt.toISOString(),
    });
    expect(await engine.endOf(one.id)).toEqual({ status: 'expired' });
    expect(await statusOf(one.id)).toBe('expired');
    expect(await engine.lines(one.id)).toEqual([
      'delegation.created by application',
      'delegation.expired by service',
    ]);
    expect(await engine.events(one.id)).toEqual([]);
    const { rows } = await engine.database.query<{ late: number }>(
      'SELECT extract(epoch FROM expired_at - expires_at)::float8 AS late FROM delegations WHERE id = $1',
      [one.id],
    );
    expect(rows[0]?.late).toBeGreaterThanOrEqual(0);
  });

  it('ends when the delegation is revoked, and is not begun again for one that has expired', async () => {
    const [one, over] = [await engine.begin(HOUR), await engine.begin(1)];
    await engine.waits(one.id);
    await engine.rooms.delegations.revoke(engine.context, one.id);
    expect(await engine.endOf(one.id)).toEqual({ status: 'revoked' });
    expect(await engine.lines(one.id)).toEqual([
      'delegation.created by application',
      'delegation.revoked by application',
    ]);
    expect(await engine.endOf(over.id)).toEqual({ status: 'expired' });
    await engine.rooms.delegations.revoke(engine.context, over.id);
    const { rows } = await engine.database.query('SELECT 1 FROM workflow_commands WHERE entity_id = $1', [
      over.id,
    ]);
    expect(rows).toEqual([]);
    expect(await statusOf(over.id)).toBe('revoked');
  });

  it('ends with its agent, and goes on while that is suspended', async () => {
    const one = await engine.begin(HOUR);
    await engine.waits(one.id);
    await engine.rooms.agents.suspend(engine.context, one.agentId);
    await engine.workflow(one.id).signal('changed');
    expect(await engine.waits(one.id)).toMatchObject({ status: 'active' });
    await engine.rooms.agents.remove(engine.context, one.agentId);
    expect(await engine.endOf(one.id)).toEqual({ status: 'revoked' });
  });

  it('goes on when its workflow is to be canceled, says so, and still lets an operator revoke it', async () => {
    const one = await engine.begin(HOUR);
    await engine.waits(one.id);
    const handle = engine.workflow(one.id);
    await handle.cancel();
    const metadata = () => handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    await eventually(
      async () => /^Cancellation .*until/s.test((await metadata()).currentDetails),
      'its details',
    );
    await handle.signal('changed');
    expect(await engine.waits(one.id)).toMatchObject({ status: 'active' });
    expect((await handle.describe()).status.name).toBe('RUNNING');
    expect(await handle.executeUpdate('revoke', { args: ['asked by phone'] })).toMatchObject({
      status: 'revoked',
    });
    expect(await engine.endOf(one.id)).toEqual({ status: 'revoked' });
  });

  it('lets an operator revoke it, in whose name that is told, and refuses what makes no sense', async () => {
    const one = await engine.begin(HOUR);
    await engine.waits(one.id);
    const handle = engine.workflow(one.id);
    for (const reason of ['x'.repeat(501), 'with\u0000'])
      await expect(handle.executeUpdate('revoke', { args: [reason] })).rejects.toMatchObject({
        cause: { message: expect.stringMatching(/500 characters/) },
      });
    expect(await handle.executeUpdate('revoke', { args: ['asked by phone'] })).toMatchObject({
      status: 'revoked',
    });
    expect(await engine.endOf(one.id)).toEqual({ status: 'revoked' });
    expect(await engine.lines(one.id)).toEqual([
      'delegation.created by application',
      `delegation.revoked by ${engine.client.options.identity}`,
    ]);
    expect(await engine.events(one.id)).toMatchObject([
      { type: 'admin.delegation.revoked', data: { delegation_id: one.id } },
    ]);
    expect(await engine.rooms.delegations.get(engine.context, one.id)).toMatchObject({
      revokedReason: 'asked by phone',
    });
  });

  it('refuses an operator what somebody else has ended, though the workflow has not heard of it', async () => {
    const one = await engine.begin(HOUR);
    await engine.waits(one.id);
    await engine.database.query('UPDATE delegations SET revoked_at = now() WHERE id = $1', [one.id]);
    await expect(engine.workflow(one.id).executeUpdate('revoke')).rejects.toMatchObject({
      cause: { cause: { message: expect.stringMatching(/is revoked/) } },
    });
    await engine.workflow(one.id).signal('changed');
    expect(await engine.endOf(one.id)).toEqual({ status: 'revoked' });
    expect(await engine.events(one.id)).toEqual([]);
  });

  it('comes back after it was ended by hand, with the next command', async () => {
    const one = await engine.begin(HOUR);
    await engine.waits(one.id);
    await engine.workflow(one.id).terminate('by hand');
    expect(await statusOf(one.id)).toBe('active');
    await engine.rooms.delegations.revoke(engine.context, one.id);
    await eventually(async () => (await engine.endOf(one.id))?.status === 'revoked', 'its end');
  });

  it('is found by its agent and state, and says nothing of the user', async () => {
    const one = await engine.begin(HOUR);
    await engine.waits(one.id);
    const query = `AgentId="${one.agentId}" AND TenantId="${engine.context.tenant.id}" AND WorkflowType="delegationExpiry" AND EntityState="active"`;
    await eventually(async () => (await engine.client.workflow.count(query)).count === 1, 'its visibility');
    const text = JSON.stringify(await engine.workflow(one.id).fetchHistory());
    const sub = String(one.subject.sub);
    expect(text).not.toContain(sub);
    expect(text).not.toContain(Buffer.from(sub).toString('base64').slice(0, 8));
    expect(
      await engine.rooms.delegationExpiry.describe({ tenantId: engine.context.tenant.id, id: one.id }),
    ).toEqual({
      summary: `openid · until ${one.expiresAt.toISOString().slice(0, 16)}Z`,
      agentId: one.agentId,
    });
  });
});
