// The sweep of challenges wired for real, in a new namespace: its workflows are named by the time, which all tests
// share.
import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { inject } from 'vitest';
import { createChallengeExpiryActivities } from '../../activities/challenge-expiry.ts';
import { createExpiryKeeper } from '../../src/authentication/challenges/challenge-expiry.client.ts';
import { ExpiryService } from '../../src/authentication/challenges/challenge-expiry.service.ts';
import { createTemporalClient } from '../../src/platform/temporal/client.ts';
import { CHALLENGE_EXPIRY_WORKFLOW, challengeExpiryWorkflowId } from '../../src/platform/temporal/names.ts';
import type { challengeExpiry } from '../../workflows/challenge-expiry.ts';
import { insertEnded } from '../authentication/challenges/ended-challenges.ts';
import { createRooms, createTestTenant } from '../identity/agents/agent-rooms.ts';
import { createTestDatabase } from '../setup/database.ts';
import { connectTestWorkers } from './test-workers.ts';

export type ChallengeExpiryEngine = Awaited<ReturnType<typeof createChallengeExpiryEngine>>;

/** @param options.challengeLifetime seconds */
export async function createChallengeExpiryEngine(options: { challengeLifetime?: number } = {}) {
  const { database, drop } = await createTestDatabase();
  const rooms = createRooms(database, options);
  const context = await createTestTenant(rooms);
  const workers = await connectTestWorkers({ namespace: { own: 'challenge-expiry' } });
  const { connection, namespace, client } = workers;
  const failures: unknown[] = [];
  const connections: NativeConnection[] = [];
  const serviceWith = (settings?: { chunk: number; budget: number }) =>
    new ExpiryService({ database, records: rooms.records, settings });

  const keeperOn = (own: NativeConnection, bucketLength?: number) =>
    createExpiryKeeper({
      client: createTemporalClient(own, { namespace }),
      expiry: serviceWith(),
      taskQueue: workers.taskQueues.main,
      bucketLength,
      onFailure: (error) => failures.push(error),
    });

  return {
    rooms,
    database,
    context,
    client,
    failures,
    serviceWith,

    /** @returns how to stop it */
    startWorker: (challengeExpiry: Pick<ExpiryService, 'sweep' | 'settle'> = serviceWith()) =>
      workers.startWorker(createChallengeExpiryActivities({ challengeExpiry })),

    stopWorkers: workers.stopAll,

    /** A keeper as another process has one: with another connection and an empty memory. */
    createKeeper: async (bucketLength?: number) => {
      const own = await NativeConnection.connect({ address: inject('temporalAddress') });
      connections.push(own);
      return keeperOn(own, bucketLength);
    },

    /** Starts the workflow of a new bucket, which ends in so many milliseconds. */
    begin: async (endsIn: number) => {
      const name = `test-${randomUUID()}`;
      await keeperOn(connection).begin({ name, endsAt: new Date(Date.now() + endsIn).toISOString() });
      return client.workflow.getHandle<typeof challengeExpiry>(challengeExpiryWorkflowId(name));
    },

    /** Ids of the executions that can be searched for, those that began anew once each. */
    listWorkflows: async () => {
      const ids: string[] = [];
      const query = `WorkflowType="${CHALLENGE_EXPIRY_WORKFLOW}"`;
      for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
      return ids;
    },

    /** Lets the sweep begin from the first challenge again. */
    rewind: () =>
      database.query(
        `UPDATE challenge_sweep SET swept_until = '-infinity', audited_until = '-infinity', auditing_until = '-infinity', auditing_after = NULL`,
      ),

    /** Challenges that ended so many seconds ago. */
    ended: (count: number, seconds: number) => insertEnded(database, context.tenant.id, { count, seconds }),

    /** The tenant's lines about expired challenges: bucket and count. */
    lines: async () => {
      const { rows } = await database.query<{
        bucket: string;
        count: number;
        actor: string;
        reason?: string;
      }>(
        `SELECT target_id AS bucket, (data ->> 'count')::int AS count, actor_kind || coalesce(' ' || actor_id, '') AS actor, data ->> 'reason' AS reason
         FROM audit_log WHERE tenant_id = $1 AND action = 'auth.challenges_expired' ORDER BY id`,
        [context.tenant.id],
      );
      return rows;
    },

    close: async () => {
      await workers.close();
      await rooms.verifier.close();
      for (const one of connections) await one.close();
      await drop();
    },
  };
}
