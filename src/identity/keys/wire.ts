// Wires keys and their rotations: for tenants, and for the workflow agentKeyRotation.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createKeyRoutes } from './key.routes.ts';
import { createKeyService } from './key.service.ts';
import { createKeyDirectoryRoutes } from './key-directory.routes.ts';
import { createKeyDirectoryService } from './key-directory.service.ts';
import { createKeySetRoutes } from './key-set.routes.ts';
import { createKeySetService } from './key-set.service.ts';
import { createRotationRoutes } from './rotation.routes.ts';
import { createRotationService } from './rotation.service.ts';
import { createRotationProgressService } from './rotation-progress.service.ts';
import { createRotationStepService } from './rotation-steps.service.ts';

export function wireKeys(
  { config, database, log, clock }: Platform,
  rooms: Needs<typeof createKeyService, 'database' | 'rotations'> &
    Needs<typeof createRotationProgressService, never> &
    Needs<typeof createRotationStepService, 'database' | 'keys'>,
) {
  const keys = createKeyService({
    ...rooms,
    database,
    rotations: createRotationProgressService(rooms),
  });
  const rotationSteps = createRotationStepService({ ...rooms, database, keys });
  const rotations = createRotationService({
    ...rooms,
    database,
    keys,
    steps: rotationSteps,
    log,
  });
  const keySets = createKeySetService({ database, now: clock.monotonic });
  const directory = createKeyDirectoryService({ ...rooms, database, clock });
  return {
    keys,
    rotations,
    rotationSteps,
    routes: [
      ...createKeyRoutes({ keys }),
      ...createKeySetRoutes({ keySets }),
      ...createKeyDirectoryRoutes({ directory, keys }),
      ...createRotationRoutes({ rotations, workflows: config.temporal }),
    ],
  };
}

/** Deletes the unrevoked keys of an agent that is deleted, in the caller's transaction. */
export { release as releaseKeysOfAgent } from './key.store.ts';

/** Lists the keys that should have a workflow, and counts those with an overdue step. */
export {
  countOverdue as countOverdueRotations,
  listExpectedWorkflows as listRotations,
} from './rotation.store.ts';
