// Wires keys, their public lists and their rotations.
import type { Platform } from '../../platform/platform.ts';
import { createKeyService, type KeyNeeds } from './key.service.ts';
import { createKeyDirectoryService } from './key-directory.service.ts';
import { createKeySetService } from './key-set.service.ts';
import { createRotationService, type RotationNeeds } from './rotation.service.ts';
import { createRotationProgressService } from './rotation-progress.service.ts';
import { createRotationStepService, type RotationStepNeeds } from './rotation-steps.service.ts';

export function wireKeys(
  { database, log, clock }: Platform,
  rooms: Omit<KeyNeeds, 'database' | 'rotations'> &
    Pick<RotationNeeds, 'tenants' | 'commands'> &
    Pick<RotationStepNeeds, 'agents'>,
) {
  const needs = { ...rooms, database, log, clock };
  const keys = createKeyService({ ...needs, rotations: createRotationProgressService(rooms) });
  const rotationSteps = createRotationStepService({ ...needs, keys });
  return {
    keys,
    rotations: createRotationService({ ...needs, keys, steps: rotationSteps }),
    rotationSteps,
    keySets: createKeySetService({ database, now: clock.monotonic }),
    directory: createKeyDirectoryService(needs),
  };
}
