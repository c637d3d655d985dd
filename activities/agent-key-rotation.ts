// The activities of agentKeyRotation: each calls one use case.
import type { RotationService } from '../src/identity/keys/rotation.service.ts';
import type {
  DepartingKey,
  KeyStanding,
  RotationStepService,
} from '../src/identity/keys/rotation-steps.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of agentKeyRotation, each safe to repeat */
export function createAgentKeyRotationActivities({
  rotationSteps,
  rotations,
}: {
  rotationSteps: Pick<RotationStepService, 'look' | 'perform'>;
  rotations: Pick<RotationService, 'cancelByOperator'>;
}) {
  return {
    /** Reads how the old key and its rotation stand. */
    readKeyRotation: (key: DepartingKey): Promise<KeyStanding> => rotationSteps.look(key),

    /** The agent has switched: gives the old key its sunset. */
    deprecateOldKey: (key: DepartingKey): Promise<KeyStanding> => rotationSteps.perform(key, 'switch'),

    /** The deadline has passed without a switch: emits an event. */
    warnOfStalledRotation: (key: DepartingKey): Promise<KeyStanding> => rotationSteps.perform(key, 'warn'),

    /** The sunset has come: revokes the old key. */
    revokeOldKey: (key: DepartingKey): Promise<KeyStanding> => rotationSteps.perform(key, 'revoke'),

    /** An operator cancels the rotation. A refusal is final: it is not tried again. */
    cancelKeyRotation: async (key: DepartingKey, reason: string | null): Promise<KeyStanding> => {
      await refuseForGood(() => rotations.cancelByOperator(key, reason ?? undefined));
      return rotationSteps.look(key);
    },
  };
}

export type AgentKeyRotationActivities = ReturnType<typeof createAgentKeyRotationActivities>;
