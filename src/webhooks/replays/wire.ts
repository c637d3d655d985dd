// Wires replays of many deliveries, which the API calls recoveries: as tenants start them, and as their workflow takes its steps.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createReplayService } from '../deliveries/replay.service.ts';
import { createRecoveryRoutes } from './bulk-replay.routes.ts';
import { createBulkRecoveryService } from './bulk-replay.service.ts';
import * as store from './bulk-replay.store.ts';
import { createBulkRecoveryStepService } from './bulk-replay-steps.service.ts';

/** @param pace how many one step replays, and how many may wait; less in tests */
export function wireReplays(
  { config, database, notifier }: Platform,
  rooms: Needs<typeof createBulkRecoveryService, 'database' | 'replays'> &
    Needs<typeof createBulkRecoveryStepService, 'database' | 'replays' | 'store' | 'pace'>,
  pace?: Parameters<typeof createBulkRecoveryStepService>[0]['pace'],
) {
  const replays = createReplayService({ notifier });
  const bulkRecoveries = createBulkRecoveryService({ ...rooms, database, replays });
  return {
    bulkRecoveries,
    bulkRecoverySteps: createBulkRecoveryStepService({ ...rooms, database, replays, pace }),
    routes: createRecoveryRoutes({
      recoveries: bulkRecoveries,
      subscriptions: rooms.subscriptions,
      workflows: config.temporal,
    }),
  };
}

/** The replays that have a workflow. */
export { listExpectedWorkflows as listBulkReplays } from './bulk-replay.store.ts';

/** What retention removes here. */
export const purgesOfReplays = { 'bulk recoveries': store.purge };
