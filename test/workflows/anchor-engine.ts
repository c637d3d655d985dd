// Anchors on the engine of entities, with domains on loopback.
import {
  type AnchorVerificationActivities,
  createAnchorVerificationActivities,
} from '../../activities/anchor-verification.ts';
import type { AnchorStatus, AnchorType } from '../../src/identity/anchors/anchor.ts';
import type { AnchorVerificationState } from '../../workflows/anchor-verification.ts';
import { createTestTenant } from '../identity/agents/agent-rooms.ts';
import { createAnchorRooms } from '../identity/anchors/anchor-rooms.ts';
import { eventually } from './delivery-engine.ts';
import { createEntityEngine } from './entity-engine.ts';

export type AnchorEngine = Awaited<ReturnType<typeof createAnchorEngine>>;

let number = 0;

/**
 * @param options.virtual gives the database a clock that a test can advance
 * @param options.wrap changes the worker's activities
 */
export async function createAnchorEngine({
  virtual = false,
  wrap = (activities) => activities,
}: {
  virtual?: boolean;
  wrap?: (activities: AnchorVerificationActivities) => AnchorVerificationActivities;
} = {}) {
  const engine = await createEntityEngine({
    workflow: 'anchorVerification',
    virtual,
    wire: createAnchorRooms,
    activities: ({ checks }) => wrap(createAnchorVerificationActivities({ anchorChecks: checks })),
    describe:
      ({ checks }, { slow }) =>
      async (name) => {
        const shown = await checks.describe(name);
        return shown && { ...shown, slowQueue: slow };
      },
  });
  const { services: rooms, database } = engine;
  const context = await createTestTenant(rooms);

  return {
    ...engine,
    rooms,
    places: rooms.places,
    checks: rooms.checks,
    context,

    /** A pending anchor of a new agent. */
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

    stateOf: (id: string) => engine.stateOf<AnchorVerificationState>(id),

    /** Waits until the workflow waits, and shows these facts of the anchor. */
    shows: (id: string, facts: Partial<AnchorVerificationState>) =>
      engine.stands<AnchorVerificationState>(
        id,
        (state) =>
          state.doing === 'waiting' &&
          Object.entries(facts).every(([name, value]) => Reflect.get(state, name) === value),
        `the workflow to show ${JSON.stringify(facts)}`,
      ),

    /** Waits until the anchor is this. */
    reaches: (one: { read(): Promise<{ status: AnchorStatus }> }, status: AnchorStatus, timeout?: number) =>
      eventually(async () => (await one.read()).status === status, `the status ${status}`, timeout),

    /** Waits until the proof was checked again, or the anchor has ended. */
    looked: (
      one: { read(): Promise<{ status: AnchorStatus; lastCheckedAt: Date | null }> },
      before: Date | null,
    ) =>
      eventually(async () => {
        const { status, lastCheckedAt } = await one.read();
        return status === 'revoked' || lastCheckedAt?.getTime() !== before?.getTime();
      }, 'another check'),

    close: async () => {
      await engine.close();
      await rooms.places.close();
    },
  };
}
