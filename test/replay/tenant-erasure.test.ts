// The courses of a tenant's end that are recorded as histories of tenantErasure.
import { createErasureEngine, type ErasureEngine } from '../workflows/erasure-engine.ts';
import { describeHistories } from './describe-histories.ts';

/** Each has a workflow that ends, and answers with the id of its tenant. */
const SCENARIOS: Record<string, (engine: ErasureEngine) => Promise<string>> = {
  erased: async (engine) => {
    const { id } = await engine.end();
    await engine.waits(id);
    await engine.letTimePass(id);
    return id;
  },
  restored: async (engine) => {
    const { id, slug } = await engine.end();
    await engine.waits(id);
    await engine.restore(slug);
    return id;
  },
};

describeHistories({
  workflow: 'tenant-erasure',
  scenarios: SCENARIOS,
  start: () => createErasureEngine(),
  record: async (engine, scenario) => {
    const id = await scenario(engine);
    await engine.workflow(id).result();
    return engine.workflow(id).fetchHistory();
  },
  activity: { name: 'eraseTenant', of: 'erased' },
});
