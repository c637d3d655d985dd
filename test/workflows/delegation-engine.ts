// Delegations on the engine of entities, with the runner of commands and a worker started.
import {
  createDelegationExpiryActivities,
  type DelegationExpiryActivities,
} from '../../activities/delegation-expiry.ts';
import type { DelegationExpiryResult, DelegationExpiryState } from '../../workflows/delegation-expiry.ts';
import { createDelegationRooms } from '../authentication/delegations/delegation-rooms.ts';
import { createTestAgent, createTestTenant, readAudit, readEvents } from '../identity/agents/agent-rooms.ts';
import { eventually } from './delivery-engine.ts';
import { createEntityEngine } from './entity-engine.ts';
import { readClock } from './virtual-clock.ts';

export type DelegationEngine = Awaited<ReturnType<typeof createDelegationEngine>>;

/**
 * @param options.virtual gives the database a clock that a test can advance
 * @param options.wrap changes the worker's activities
 */
export async function createDelegationEngine({
  virtual = false,
  wrap = (activities) => activities,
}: {
  virtual?: boolean;
  wrap?: (activities: DelegationExpiryActivities) => DelegationExpiryActivities;
} = {}) {
  const engine = await createEntityEngine({
    workflow: 'delegationExpiry',
    virtual,
    wire: createDelegationRooms,
    activities: (rooms) => wrap(createDelegationExpiryActivities(rooms)),
    describe: (rooms) => rooms.delegationExpiry.describe,
  });
  const { database, workflow, services: rooms } = engine;
  const context = await createTestTenant(rooms);
  engine.startRunner();
  await engine.startWorker();
  let users = 0;

  return {
    ...engine,
    rooms,
    context,

    /** A delegation to a new agent, which ends in so many seconds. */
    begin: async (seconds: number) => {
      const { agent } = await createTestAgent(rooms, context);
      const subject = { issuer: 'https://idp.example', sub: `user-${++users}` };
      const expiresAt = new Date((await readClock(database)).getTime() + seconds * 1_000);
      const request = { subject, agentId: agent.id, scopes: ['openid'], expiresAt };
      return { ...(await rooms.delegations.create(context, request)), agentId: agent.id };
    },

    /** The state of the workflow, once it waits. */
    waits: (id: string) =>
      engine.stands<DelegationExpiryState>(id, ({ doing }) => doing === 'waiting', 'the workflow to wait'),

    /** The result of the workflow, once it has been started and has ended. */
    endOf: (id: string) =>
      eventually(
        (): Promise<DelegationExpiryResult | undefined> =>
          workflow(id)
            .result()
            .catch(() => undefined),
        'its end',
      ),

    /** What the audit log says of a delegation: action and who did it. */
    lines: async (id: string) =>
      (await readAudit(database, context.tenant.id))
        .filter(({ target_id }) => target_id === id)
        .map(
          ({ action, actor_kind, actor_id }) =>
            `${action} by ${actor_kind === 'operator' ? actor_id : actor_kind}`,
        ),

    /** Events about it. */
    events: async (id: string) =>
      (await readEvents(database, context.tenant.id)).filter(({ data }) => data.delegation_id === id),

    close: async () => {
      await rooms.verifier.close();
      await engine.close();
    },
  };
}
