// Wires bulk replays: their routes, and the steps of their workflow.
import type { Needs, Platform } from '../../platform/platform.ts';
import { createReplayService } from '../deliveries/replay.service.ts';
import { createBulkReplayRoutes } from './bulk-replay.routes.ts';
import { createBulkReplayService } from './bulk-replay.service.ts';
import * as store from './bulk-replay.store.ts';
import { createBulkReplayStepService } from './bulk-replay-steps.service.ts';

export function wireReplays(
  { config, database, notifier }: Platform,
  rooms: Needs<typeof createBulkReplayService, 'database' | 'replays'> &
    Needs<typeof createBulkReplayStepService, 'database' | 'replays' | 'store' | 'pace'>,
  pace?: Parameters<typeof createBulkReplayStepService>[0]['pace'],
) {
  const replays = createReplayService({ notifier });
  const bulkReplays = createBulkReplayService({ ...rooms, database, replays });
  return {
    bulkReplays,
    bulkReplaySteps: createBulkReplayStepService({ ...rooms, database, replays, pace }),
    routes: createBulkReplayRoutes({
      bulkReplays,
      subscriptions: rooms.subscriptions,
      workflows: config.temporal,
    }),
  };
}

export { listExpectedWorkflows as listBulkReplays } from './bulk-replay.store.ts';

export const purgesOfReplays = { 'bulk replays': store.purge };
