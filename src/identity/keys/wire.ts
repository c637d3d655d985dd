// Wires the keys of agents and their rotations: as tenants manage them, and as the workflow agentKeyRotation takes its steps.
import type { Database } from '../../platform/database/database.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createKeyRoutes } from './key.routes.ts';
import { createKeyService } from './key.service.ts';
import { createKeyStore } from './key.store.ts';
import { createRotationRoutes } from './rotation.routes.ts';
import { createRotationService } from './rotation.service.ts';
import { createRotationProgressService } from './rotation-progress.service.ts';
import { createRotationStepService } from './rotation-steps.service.ts';

export function wireKeys(
  { config, database, log }: Platform,
  rooms: Needs<typeof createKeyService, 'database' | 'store' | 'rotations'> &
    Needs<typeof createRotationProgressService, never> &
    Needs<typeof createRotationStepService, 'database' | 'keyStore' | 'keys'>,
) {
  const keyStore = createKeyStore(database);
  const keys = createKeyService({
    ...rooms,
    database,
    store: keyStore,
    rotations: createRotationProgressService(rooms),
  });
  const rotationSteps = createRotationStepService({ ...rooms, database, keyStore, keys });
  const rotations = createRotationService({
    ...rooms,
    database,
    keyStore,
    keys,
    steps: rotationSteps,
    log,
  });
  return {
    keys,
    rotations,
    rotationSteps,
    routes: [
      ...createKeyRoutes({ keys }),
      ...createRotationRoutes({ rotations, workflows: config.temporal }),
    ],
  };
}

/** Frees the keys of an agent that is deleted, in the caller's transaction. */
export const releaseKeysOfAgent = (database: Pick<Database, 'sequelize'>) => createKeyStore(database).release;

/** The rotations that have a workflow, and those whose workflow is late. */
export {
  countOverdue as countOverdueRotations,
  listExpectedWorkflows as listRotations,
} from './rotation.store.ts';
