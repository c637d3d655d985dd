// The courses of a tenant's issuer keys that are recorded as histories of issuerKeyRotation.
import type { RequestContext } from '../../src/platform/context.ts';
import { createIssuerKeyEngine, type IssuerKeyEngine } from '../workflows/issuer-key-engine.ts';
import { describeHistories } from './describe-histories.ts';

type Scenario = (engine: IssuerKeyEngine, context: RequestContext) => Promise<void>;

const DAYS_90 = 90 * 86_400;

const prepared = (engine: IssuerKeyEngine, { tenant }: RequestContext) =>
  engine.stands(tenant.id, ({ next }) => next !== null, 'the next key');

/** Time passes, and the workflow receives a signal, as it would read by itself once a day. */
async function pass(engine: IssuerKeyEngine, { tenant }: RequestContext, seconds: number) {
  await engine.pass(seconds);
  await engine.workflow(tenant.id).signal('changed');
}

/** Each happens to a new tenant. The workflow never ends: the histories are of one that waits. */
const SCENARIOS: Record<string, Scenario> = {
  published: async (engine, context) => {
    await prepared(engine, context);
  },
  'activated-retired-removed': async (engine, context) => {
    const { next } = await prepared(engine, context);
    await pass(engine, context, DAYS_90);
    await engine.stands(context.tenant.id, ({ signing }) => signing?.kid === next?.kid, 'the activation');
    await pass(engine, context, 60);
    await engine.stands(context.tenant.id, ({ retired }) => retired?.count === 1, 'the retirement');
    await pass(engine, context, 87_000);
    await engine.stands(context.tenant.id, ({ retired }) => retired === null, 'the removal');
  },
  'rotated-by-operator': async (engine, context) => {
    await prepared(engine, context);
    await engine.pass(600);
    await engine.workflow(context.tenant.id).executeUpdate('rotate', { args: ['drill'] });
    await engine.stands(
      context.tenant.id,
      ({ retired, next }) => retired?.count === 1 && next !== null,
      'the rotation',
    );
  },
  'rotated-by-tenant': async (engine, context) => {
    await prepared(engine, context);
    await engine.pass(600);
    await engine.accounts.issuerKeys.rotate(context);
    await engine.stands(
      context.tenant.id,
      ({ retired, next }) => retired?.count === 1 && next !== null,
      'the rotation',
    );
  },
  'revoked-by-operator': async (engine, context) => {
    const { signing, next } = await prepared(engine, context);
    await engine
      .workflow(context.tenant.id)
      .executeUpdate('revoke', { args: [signing?.kid ?? '', 'stolen'] });
    await engine.stands(
      context.tenant.id,
      (state) => state.signing?.kid === next?.kid && state.next !== null,
      'the revocation',
    );
  },
  'revoked-by-tenant': async (engine, context) => {
    const { signing, next } = await prepared(engine, context);
    await engine.accounts.issuerKeys.revoke(context, signing?.kid ?? '', { reason: 'stolen' });
    await engine.stands(
      context.tenant.id,
      (state) => state.signing?.kid === next?.kid && state.next !== null,
      'the revocation',
    );
  },
  'algorithm-changed': async (engine, context) => {
    const { next } = await prepared(engine, context);
    await engine.accounts.tenants.update(context, { signingAlgorithm: 'EdDSA' });
    const changed = await engine.stands(
      context.tenant.id,
      (state) => state.next !== null && state.next.kid !== next?.kid,
      'the new algorithm',
    );
    await pass(engine, context, 600);
    await engine.stands(
      context.tenant.id,
      ({ signing }) => signing?.kid === changed.next?.kid,
      'its activation',
    );
  },
};

describeHistories<IssuerKeyEngine, Scenario>({
  workflow: 'issuer-key-rotation',
  scenarios: SCENARIOS,
  start: async () => {
    const engine = await createIssuerKeyEngine();
    engine.startRunner();
    await engine.startWorker();
    return engine;
  },
  record: async (engine, scenario) => {
    const context = await engine.newTenant();
    const { tenant } = context;
    await prepared(engine, context);
    const first = engine.client.workflow.getHandle(
      engine.workflow(tenant.id).workflowId,
      (await engine.workflow(tenant.id).describe()).runId,
    );
    await scenario(engine, context);
    await engine.toldAll();
    return first.fetchHistory();
  },
  activity: { name: 'publishNextIssuerKey', of: 'published' },
});
