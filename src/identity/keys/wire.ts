// Wires keys, their public lists and their rotations.
import type { Platform } from '../../platform/opening/platform.ts';
import { type KeyNeeds, KeyService } from './key.service.ts';
import { KeyDirectoryService } from './key-directory.service.ts';
import { KeySetService } from './key-set.service.ts';
import { type RotationNeeds, RotationService } from './rotation.service.ts';
import { RotationProgressService } from './rotation-progress.service.ts';
import { type RotationStepNeeds, RotationStepService } from './rotation-steps.service.ts';

export function wireKeys(
  { database, log, clock }: Platform,
  rooms: Omit<KeyNeeds, 'database' | 'rotations'> &
    Pick<RotationNeeds, 'tenants' | 'commands'> &
    Pick<RotationStepNeeds, 'agents'>,
) {
  const needs = { ...rooms, database, log, clock };
  const keys = new KeyService({ ...needs, rotations: new RotationProgressService(rooms) });
  const rotationSteps = new RotationStepService({ ...needs, keys });
  return {
    keys,
    rotations: new RotationService({ ...needs, keys, steps: rotationSteps }),
    rotationSteps,
    keySets: new KeySetService({ database, now: clock.monotonic }),
    directory: new KeyDirectoryService(needs),
  };
}
