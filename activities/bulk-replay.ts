// The activities of bulkReplay, the workflow of bulk replays. Each calls one use case.
import type { BulkReplayService } from '../src/webhooks/replays/bulk-replay.service.ts';
import type { BulkReplayName } from '../src/webhooks/replays/bulk-replay.store.ts';
import type { BulkReplayStepService } from '../src/webhooks/replays/bulk-replay-steps.service.ts';
import { forOperator } from './operator-request.ts';

export function createBulkReplayActivities({
  bulkReplaySteps,
  bulkReplays,
}: {
  bulkReplaySteps: Pick<BulkReplayStepService, 'advance'>;
  bulkReplays: Pick<BulkReplayService, 'cancelByOperator'>;
}) {
  return {
    /** Replays the next chunk of deliveries, or returns the reason to wait. */
    replayDeliveries: bulkReplaySteps.advance,

    cancelReplay: async (name: BulkReplayName, reason: string | null): Promise<undefined> => {
      await forOperator(reason, (request) => bulkReplays.cancelByOperator(name, request));
      return undefined;
    },
  };
}

export type BulkReplayActivities = ReturnType<typeof createBulkReplayActivities>;
