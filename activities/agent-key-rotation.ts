// The activities of agentKeyRotation. Each calls one use case.
import type { RotationService } from '../src/identity/keys/rotation.service.ts';
import type { DepartingKey, RotationStepService } from '../src/identity/keys/rotation-steps.service.ts';
import { forOperator } from './operator-request.ts';

export function createAgentKeyRotationActivities({
  rotationSteps,
  rotations,
}: {
  rotationSteps: Pick<RotationStepService, 'look' | 'perform'>;
  rotations: Pick<RotationService, 'cancelByOperator'>;
}) {
  return {
    readKeyRotation: rotationSteps.look,
    /** Gives the old key its sunset, because the agent uses its new key. */
    deprecateOldKey: (key: DepartingKey) => rotationSteps.perform(key, 'switch'),
    /** Emits an event, because the deadline has passed and the agent does not use its new key. */
    warnOfStalledRotation: (key: DepartingKey) => rotationSteps.perform(key, 'warn'),
    revokeOldKey: (key: DepartingKey) => rotationSteps.perform(key, 'revoke'),

    cancelKeyRotation: async (key: DepartingKey, reason: string | null) => {
      await forOperator(reason, (request) => rotations.cancelByOperator(key, request));
      return rotationSteps.look(key);
    },
  };
}

export type AgentKeyRotationActivities = ReturnType<typeof createAgentKeyRotationActivities>;
