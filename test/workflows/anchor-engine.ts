// Anchors wired for real: Postgres, Temporal, the runner of commands, a worker, and domains on loopback.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import {
  type AnchorVerificationActivities,
  createAnchorVerificationActivities,
} from '../../activities/anchor-verification.ts';
import type { AnchorStatus, AnchorType } from '../../src/identity/anchors/anchor.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { createEntityStarter } from '../../src/platform/temporal/entity.client.ts';
import { entityWorkflowId } from '../../src/platform/temporal/names.ts';
import { createDeliveryWorker } from '../../src/platform/temporal/worker.ts';
import { createWorkflowCommandRunner } from '../../src/platform/temporal/workflow-command.client.ts';
import type { AnchorVerificationState } from '../../workflows/anchor-verification.ts';
import { createTestTenant } from '../identity/agents/agent-rooms.ts';
import { createAnchorRooms } from '../identity/anchors/anchor-rooms.ts';
import { createTestDatabase } from '../setup/database.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually, installRuntimeOnce } from './delivery-engine.ts';
import { installVirtualClock } from './virtual-clock.ts';

export type AnchorEngine = Awaited<ReturnType<typeof createAnchorEngine>>;

let number = 0;

/**
 * @param options.virtual the database gets a clock of its own
 * @param options.wrap what the worker gets instead of the activities
 */
export async function createAnchorEngine({
  virtual = false,
  wrap = (activities) => activities,
}: {
  virtual?: boolean;
  wrap?: (activities: AnchorVerificationActivities) => AnchorVerificationActivities;
} = {}) {
  installRuntimeOnce();
  const { database, url, drop } = await createTestDatabase();
  if (virtual) await installVirtualClock(url);
  const rooms = await createAnchorRooms(database);
  const context = await createTestTenant(rooms);
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const namespace = inject('temporalNamespace');
  const client = createTemporalClient(connection, { namespace });
  const queue = `test-${randomUUID()}`;
  const slowQueue = `${queue}-slow`;
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
  const workflow = (id: string) => client.workflow.getHandle(entityWorkflowId('anchorVerification', id));

  return {
    rooms,
    places: rooms.places,
    checks: rooms.checks,
    database,
    context,
    client,
    failures,
    workflow,

    /** A pending anchor of an agent of its own. */
    begin: async (type: AnchorType = 'domain_https') => {
      const agent = await rooms.agents.create(context, { name: 'Robot', scopes: ['openid'] });
      const value = `a${++number}.anchors.test`;
      const anchor = await rooms.anchors.create(context, agent.id, { type, value });
      return {
        ...anchor,
        read: () => rooms.anchors.get(context, agent.id, anchor.id),
        check: () => rooms.anchors.requestCheck(context, agent.id, anchor.id),
        revoke: (reason?: string) => rooms.anchors.revoke(context, agent.id, anchor.id, reason),
        /** Lets so many milliseconds of its life pass. */
        age: (ms: number) =>
          database.query(
            `UPDATE anchors SET created_at = created_at - $2::float8 * interval '1 ms', expires_at = expires_at - $2::float8 * interval '1 ms',
               next_check_at = next_check_at - $2::float8 * interval '1 ms', missing_since = missing_since - $2::float8 * interval '1 ms'
             WHERE id = $1`,
            [anchor.id, ms],
          ),
      };
    },

    /** @returns how to stop it */
    startRunner: () => {
      const runner = createWorkflowCommandRunner({
        database,
        starter,
        describe: {
          anchorVerification: async (name) => {
            const shown = await rooms.checks.describe(name);
            return shown && { ...shown, slowQueue };
          },
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
        taskQueues: { main: queue, attempts: `${queue}-attempts`, slow: slowQueue },
        activities: wrap(createAnchorVerificationActivities({ anchorChecks: rooms.checks })),
        workflows: bundle,
      });
      const running = worker.run();
      return stoppable(async () => {
        worker.shutdown();
        await running;
      });
    },

    stateOf: (id: string) => workflow(id).query<AnchorVerificationState>('state'),

    /** Waits until the workflow waits, and says this of the anchor. */
    shows: (id: string, facts: Partial<AnchorVerificationState>) =>
      eventually(
        async () => {
          const state = await workflow(id)
            .query<AnchorVerificationState>('state')
            .catch(() => undefined);
          if (state?.doing !== 'waiting') return false;
          return Object.entries(facts).every(([name, value]) => Reflect.get(state, name) === value) && state;
        },
        `the workflow to show ${JSON.stringify(facts)}`,
      ),

    /** Waits until the anchor is this. */
    reaches: (one: { read(): Promise<{ status: AnchorStatus }> }, status: AnchorStatus, timeout?: number) =>
      eventually(async () => (await one.read()).status === status, `the status ${status}`, timeout),

    /** Waits until it was looked for again, or has ended. */
    looked: (
      one: { read(): Promise<{ status: AnchorStatus; lastCheckedAt: Date | null }> },
      before: Date | null,
    ) =>
      eventually(async () => {
        const { status, lastCheckedAt } = await one.read();
        return status === 'revoked' || lastCheckedAt?.getTime() !== before?.getTime();
      }, 'another look'),
    runOf: async (id: string) => (await workflow(id).describe()).runId,

    /** Waits until no command is left. */
    toldAll: () =>
      eventually(async () => {
        const { rows } = await database.query('SELECT 1 FROM workflow_commands');
        return rows.length === 0;
      }, 'all commands to be handed over'),
    close: async () => {
      for (const stop of stops) await stop().catch(() => undefined);
      await connection.close();
      await rooms.places.close();
      await drop();
    },
  };
}
