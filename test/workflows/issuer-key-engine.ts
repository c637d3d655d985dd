// Issuer keys wired for real: Postgres, Temporal, the runner of commands and a worker, each of which a test starts and stops itself. Its time
// may be virtual: then a wait is cut to nothing, and the database's clock, which decides everything, jumps by as much.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import {
  createIssuerKeyRotationActivities,
  type IssuerKeyRotationActivities,
} from '../../activities/issuer-key-rotation.ts';
import type { IssuerStanding } from '../../src/authentication/issuer/issuer-rotation.service.ts';
import { newId } from '../../src/platform/database/ids.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { createEntityStarter, type EntityStarter } from '../../src/platform/temporal/entity.client.ts';
import { ENTITY_CHANGED, entityWorkflowId } from '../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import { createWorkflowCommandRunner } from '../../src/platform/temporal/workflow-command.client.ts';
import type { IssuerKeysState } from '../../workflows/issuer-key-rotation.ts';
import { createAccounts, provisionTenant, requestTo } from '../authentication/tokens/accounts.ts';
import { createTestDatabase } from '../setup/database.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually, installRuntimeOnce } from './delivery-engine.ts';
import { advanceClock, installVirtualClock } from './virtual-clock.ts';

export type IssuerKeyEngine = Awaited<ReturnType<typeof createIssuerKeyEngine>>;

/** @param options.virtual whether waits are jumped over @param options.lifetime of a key, in seconds */
export async function createIssuerKeyEngine(options: { virtual?: boolean; lifetime?: number } = {}) {
  installRuntimeOnce();
  const { database, url, drop } = await createTestDatabase();
  await installVirtualClock(url);
  const accounts = createAccounts(database, { issuerKeyLifetime: options.lifetime ?? 90 * 86_400 });
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const namespace = inject('temporalNamespace');
  const client = createTemporalClient(connection, { namespace });
  const queue = `test-${randomUUID()}`;
  const bundle = await workflowBundle();
  const failures: unknown[] = [];
  const stops = new Set<() => Promise<void>>();
  const starter = createEntityStarter({ client, taskQueue: queue });
  let waits = 0;
  /** How many more waits may be jumped over. */
  let jumps = options.virtual === true ? Number.POSITIVE_INFINITY : 0;

  const stoppable = (stop: () => Promise<void>) => {
    stops.add(stop);
    return async () => {
      stops.delete(stop);
      await stop();
    };
  };
  const workflow = (tenantId: string) =>
    client.workflow.getHandle(entityWorkflowId('issuerKeyRotation', tenantId));
  const pass = (seconds: number) => advanceClock(database, seconds * 1000);
  const jump = async (tenantId: string, standing: IssuerStanding): Promise<IssuerStanding> => {
    const { step } = standing;
    if (step.kind !== 'wait' || jumps <= 0) return standing;
    jumps -= 1;
    waits += 1;
    await advanceClock(database, step.delayMs);
    // A timer takes a second of the real time, however short it is: most are cut short by a signal.
    if (waits % 20 !== 0) await workflow(tenantId).signal(ENTITY_CHANGED);
    return { ...standing, step: { ...step, delayMs: 1 } };
  };
  const wrap = (activities: IssuerKeyRotationActivities): IssuerKeyRotationActivities => ({
    ...activities,
    readIssuerKeys: async (name) => jump(name.tenantId, await activities.readIssuerKeys(name)),
    publishNextIssuerKey: async (name) => jump(name.tenantId, await activities.publishNextIssuerKey(name)),
    retireIssuerKey: async (name) => jump(name.tenantId, await activities.retireIssuerKey(name)),
    removeIssuerKey: async (name) => jump(name.tenantId, await activities.removeIssuerKey(name)),
  });

  return {
    accounts,
    database,
    client,
    failures,
    workflow,
    starter,
    pass,

    /** Lets virtual time stand still from the next reading on. */
    halt: () => {
      jumps = 0;
    },

    /** A tenant with its first key, whose workflow the next command starts. */
    newTenant: async () => requestTo((await provisionTenant(accounts, `t-${newId()}`)).tenant),

    /** @returns how to stop it */
    startRunner: (tell: EntityStarter['tell'] = starter.tell) => {
      const runner = createWorkflowCommandRunner({
        database,
        starter: { tell },
        describe: { issuerKeyRotation: ({ tenantId }) => accounts.issuerRotation.describe({ tenantId }) },
        onFailure: (error) => failures.push(error),
        poll: 50,
      });
      return stoppable(runner.start().stop);
    },

    /** @returns how to stop it */
    startWorker: async () => {
      const worker = await createDeliveryWorker({
        connection,
        namespace,
        taskQueues: { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` },
        activities: wrap(createIssuerKeyRotationActivities(accounts)),
        workflows: bundle,
      });
      const running = worker.run();
      return stoppable(async () => {
        worker.shutdown();
        await running;
      });
    },

    stateOf: (tenantId: string) =>
      workflow(tenantId)
        .query<IssuerKeysState>('state')
        .catch(() => undefined),

    /** Waits until the workflow waits, and what it knows is this. */
    stands: (tenantId: string, known: (state: IssuerKeysState) => boolean, what = 'the state') =>
      eventually(async () => {
        const state = await workflow(tenantId)
          .query<IssuerKeysState>('state')
          .catch(() => undefined);
        return state?.doing === 'waiting' && known(state) && state;
      }, what),

    /** Waits until no command is left. */
    toldAll: () =>
      eventually(async () => {
        const { rows } = await database.query('SELECT 1 FROM workflow_commands');
        return rows.length === 0;
      }, 'all commands to be handed over'),
    close: async () => {
      for (const stop of stops) await stop().catch(() => undefined);
      await connection.close();
      await drop();
    },
  };
}
