// Delegations wired for real: Postgres, Temporal, the runner of commands and a worker.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import {
  createDelegationExpiryActivities,
  type DelegationExpiryActivities,
} from '../../activities/delegation-expiry.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { createEntityStarter } from '../../src/platform/temporal/entity.client.ts';
import { entityWorkflowId } from '../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import { createWorkflowCommandRunner } from '../../src/platform/temporal/workflow-command.client.ts';
import type { DelegationExpiryState, delegationExpiry } from '../../workflows/delegation-expiry.ts';
import { createDelegationRooms } from '../authentication/delegations/delegation-rooms.ts';
import { createTestAgent, createTestTenant, readAudit, readEvents } from '../identity/agents/agent-rooms.ts';
import { createTestDatabase } from '../setup/database.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually, installRuntimeOnce } from './delivery-engine.ts';
import { installVirtualClock, readClock } from './virtual-clock.ts';

export type DelegationEngine = Awaited<ReturnType<typeof createDelegationEngine>>;

/**
 * @param options.virtual the database gets a clock of its own
 * @param options.wrap what the worker gets instead of the activities
 */
export async function createDelegationEngine({
  virtual = false,
  wrap = (activities) => activities,
}: {
  virtual?: boolean;
  wrap?: (activities: DelegationExpiryActivities) => DelegationExpiryActivities;
} = {}) {
  installRuntimeOnce();
  const { database, url, drop } = await createTestDatabase();
  if (virtual) await installVirtualClock(url);
  const rooms = createDelegationRooms(database);
  const context = await createTestTenant(rooms);
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const namespace = inject('temporalNamespace');
  const client = createTemporalClient(connection, { namespace });
  const queue = `test-${randomUUID()}`;
  const failures: unknown[] = [];
  const runner = createWorkflowCommandRunner({
    database,
    starter: createEntityStarter({ client, taskQueue: queue }),
    describe: { delegationExpiry: rooms.delegationExpiry.describe },
    onFailure: (error) => failures.push(error),
    poll: 50,
  }).start();
  const worker = await createDeliveryWorker({
    connection,
    namespace,
    taskQueues: { main: queue, attempts: `${queue}-attempts`, slow: `${queue}-slow` },
    activities: wrap(createDelegationExpiryActivities({ delegationExpiry: rooms.delegationExpiry })),
    workflows: await workflowBundle(),
  });
  const running = worker.run();
  const workflow = (id: string) =>
    client.workflow.getHandle<typeof delegationExpiry>(entityWorkflowId('delegationExpiry', id));
  let users = 0;

  return {
    rooms,
    database,
    context,
    client,
    failures,
    workflow,

    /** A delegation to an agent of its own, which ends in so many seconds. */
    begin: async (seconds: number) => {
      const { agent } = await createTestAgent(rooms, context);
      const subject = { issuer: 'https://idp.example', sub: `user-${++users}` };
      const expiresAt = new Date((await readClock(database)).getTime() + seconds * 1_000);
      const request = { subject, agentId: agent.id, scopes: ['openid'], expiresAt };
      return { ...(await rooms.delegations.create(context, request)), agentId: agent.id };
    },

    /** The state as the workflow tells it, once it waits. */
    waits: (id: string) =>
      eventually(async () => {
        const state = await workflow(id)
          .query<DelegationExpiryState>('state')
          .catch(() => undefined);
        return state?.doing === 'waiting' && state;
      }, 'the workflow to wait'),

    /** The result of the workflow, once it has been started and has ended. */
    endOf: (id: string) =>
      eventually(
        () =>
          workflow(id)
            .result()
            .catch(() => undefined),
        'its end',
      ),

    /** What the audit log says of a delegation: action and who did it. */
    lines: async (id: string) =>
      (await readAudit(database, context.tenant.id))
        .filter(({ target_id }) => target_id === id)
        .map(({ action, actor_kind }) => `${action} by ${actor_kind}`),

    /** Events about it. */
    events: async (id: string) =>
      (await readEvents(database, context.tenant.id)).filter(({ data }) => data.delegation_id === id),
    close: async () => {
      await runner.stop();
      worker.shutdown();
      await running;
      await rooms.verifier.close();
      await connection.close();
      await drop();
    },
  };
}
