// Key rotations wired for real: Postgres, Temporal, the runner of commands and a worker, each of which a test starts and stops itself.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { createAgentKeyRotationActivities } from '../../activities/agent-key-rotation.ts';
import type { RotationState } from '../../src/identity/keys/rotation.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { createEntityStarter, type EntityStarter } from '../../src/platform/temporal/entity.client.ts';
import { entityWorkflowId } from '../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import { createWorkflowCommandRunner } from '../../src/platform/temporal/workflow-command.client.ts';
import type { KeyRotationState } from '../../workflows/agent-key-rotation.ts';
import { createRooms, createTestTenant } from '../identity/agents/agent-rooms.ts';
import { beginRotation, type RotationCase } from '../identity/keys/rotation-case.ts';
import { createTestDatabase } from '../setup/database.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually, installRuntimeOnce } from './delivery-engine.ts';

export type KeyRotationEngine = Awaited<ReturnType<typeof createKeyRotationEngine>>;

type Activities = ReturnType<typeof createAgentKeyRotationActivities>;

/** @param options.prepare what the database needs before anybody uses it; `wrap` what the worker calls instead of the activities */
export async function createKeyRotationEngine({
  prepare,
  wrap = (activities) => activities,
}: {
  prepare?: (url: string) => Promise<void>;
  wrap?: (activities: Activities) => Activities;
} = {}) {
  installRuntimeOnce();
  const { database, url, drop } = await createTestDatabase();
  await prepare?.(url);
  const rooms = createRooms(database);
  const context = await createTestTenant(rooms);
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const namespace = inject('temporalNamespace');
  const client = createTemporalClient(connection, { namespace });
  const queue = `test-${randomUUID()}`;
  const bundle = await workflowBundle();
  const failures: unknown[] = [];
  const stops = new Set<() => Promise<void>>();
  const starter = createEntityStarter({ client, taskQueue: queue });

  const stoppable = (stop: () => Promise<void>) => {
    stops.add(stop);
    return async () => {
      stops.delete(stop);
      await stop();
    };
  };
  const workflow = (keyId: string) => client.workflow.getHandle(entityWorkflowId('agentKeyRotation', keyId));

  return {
    rooms,
    database,
    context,
    client,
    failures,
    workflow,
    starter,

    /** @returns how to stop it */
    startRunner: (tell: EntityStarter['tell'] = starter.tell) => {
      const runner = createWorkflowCommandRunner({
        database,
        starter: { tell },
        describe: {
          agentKeyRotation: ({ tenantId, id }) => rooms.rotationSteps.describe({ tenantId, keyId: id }),
        },
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
        activities: wrap(createAgentKeyRotationActivities(rooms)),
        workflows: bundle,
      });
      const running = worker.run();
      return stoppable(async () => {
        worker.shutdown();
        await running;
      });
    },

    begin: (options?: Parameters<typeof beginRotation>[2]) => beginRotation(rooms, context, options),

    /** Waits until the rotation is in this state. */
    reaches: (one: RotationCase, state: RotationState) =>
      eventually(async () => (await one.read()).state === state, `the state ${state}`),
    stateOf: (keyId: string) => workflow(keyId).query<KeyRotationState>('state'),

    /** Waits until the workflow does this. */
    does: (keyId: string, doing: KeyRotationState['doing']) =>
      eventually(async () => {
        const state = await workflow(keyId)
          .query<KeyRotationState>('state')
          .catch(() => undefined);
        return state?.doing === doing && state;
      }, `the workflow to be ${doing}`),

    /** Which run of the key's workflow is the latest. */
    runOf: async (keyId: string) => (await workflow(keyId).describe()).runId,

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
