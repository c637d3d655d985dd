// Key rotations on the engine of entities.
import { createAgentKeyRotationActivities } from '../../activities/agent-key-rotation.ts';
import type { RotationState } from '../../src/identity/keys/rotation.ts';
import type { KeyRotationState } from '../../workflows/agent-key-rotation.ts';
import { createRooms, createTestTenant } from '../identity/agents/agent-rooms.ts';
import { beginRotation, type RotationCase } from '../identity/keys/rotation-case.ts';
import { eventually } from './delivery-engine.ts';
import { createEntityEngine } from './entity-engine.ts';

export type KeyRotationEngine = Awaited<ReturnType<typeof createKeyRotationEngine>>;

type Activities = ReturnType<typeof createAgentKeyRotationActivities>;

/**
 * @param options.virtual gives the database a clock that a test can advance
 * @param options.wrap changes the worker's activities
 */
export async function createKeyRotationEngine({
  virtual = false,
  wrap = (activities) => activities,
}: {
  virtual?: boolean;
  wrap?: (activities: Activities) => Activities;
} = {}) {
  const engine = await createEntityEngine({
    workflow: 'agentKeyRotation',
    virtual,
    wire: (database) => createRooms(database),
    activities: (rooms) => wrap(createAgentKeyRotationActivities(rooms)),
    describe:
      (rooms) =>
      ({ tenantId, id }) =>
        rooms.rotationSteps.describe({ tenantId, keyId: id }),
  });
  const { services: rooms } = engine;
  const context = await createTestTenant(rooms);

  return {
    ...engine,
    rooms,
    context,

    begin: (options?: Parameters<typeof beginRotation>[2]) => beginRotation(rooms, context, options),

    /** Waits until the rotation is in this state. */
    reaches: (one: RotationCase, state: RotationState) =>
      eventually(async () => (await one.read()).state === state, `the state ${state}`),

    stateOf: (keyId: string) => engine.stateOf<KeyRotationState>(keyId),

    /** Waits until the workflow does this. */
    does: (keyId: string, doing: KeyRotationState['doing']) =>
      engine.stands<KeyRotationState>(keyId, (state) => state.doing === doing, `the workflow to be ${doing}`),
  };
}
