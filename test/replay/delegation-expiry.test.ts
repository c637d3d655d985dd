// The courses of a delegation that are recorded as histories of delegationExpiry.
import { createDelegationEngine, type DelegationEngine } from '../workflows/delegation-engine.ts';
import { describeHistories } from './describe-histories.ts';

const HOUR = 3_600;

const waiting = async (engine: DelegationEngine) => {
  const one = await engine.begin(HOUR);
  await engine.waits(one.id);
  return one;
};

/** Each has a workflow that ends, and answers with the id of its delegation. */
const SCENARIOS: Record<string, (engine: DelegationEngine) => Promise<string>> = {
  expired: async (engine) => (await engine.begin(2)).id,
  revoked: async (engine) => {
    const { id } = await waiting(engine);
    await engine.rooms.delegations.revoke(engine.context, id);
    return id;
  },
  'revoked-by-operator': async (engine) => {
    const { id } = await waiting(engine);
    await engine.workflow(id).executeUpdate('revoke', { args: ['asked by phone'] });
    return id;
  },
  'cancellation-ignored': async (engine) => {
    const { id } = await waiting(engine);
    await engine.workflow(id).cancel();
    await engine.workflow(id).executeUpdate('revoke', { args: ['asked by phone'] });
    return id;
  },
  'agent-deleted': async (engine) => {
    const { id, agentId } = await waiting(engine);
    await engine.rooms.agents.remove(engine.context, agentId);
    return id;
  },
  'looked-again': async (engine) => {
    const { id } = await waiting(engine);
    await engine.workflow(id).signal('changed');
    await engine.waits(id);
    await engine.database.query(
      `UPDATE delegations SET expires_at = now() - interval '1 second' WHERE id = $1`,
      [id],
    );
    await engine.workflow(id).signal('changed');
    return id;
  },
};

describeHistories({
  workflow: 'delegation-expiry',
  scenarios: SCENARIOS,
  start: () => createDelegationEngine(),
  record: async (engine, scenario) => {
    const id = await scenario(engine);
    await engine.endOf(id);
    return engine.workflow(id).fetchHistory();
  },
  activity: { name: 'expireDelegation', of: 'expired' },
});
