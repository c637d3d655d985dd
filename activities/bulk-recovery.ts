// The activities of bulkRecovery: each calls one use case.
import type { BulkReplayService } from '../src/webhooks/replays/bulk-replay.service.ts';
import type { BulkReplayName } from '../src/webhooks/replays/bulk-replay.store.ts';
import type {
  BulkReplayStanding,
  BulkReplayStepService,
} from '../src/webhooks/replays/bulk-replay-steps.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of bulkRecovery, each safe to repeat */
export function createBulkRecoveryActivities({
  bulkReplaySteps,
  bulkReplays,
}: {
  bulkReplaySteps: Pick<BulkReplayStepService, 'advance'>;
  bulkReplays: Pick<BulkReplayService, 'cancelByOperator'>;
}) {
  return {
    /** Replays the next deliveries, or names the reason to wait. */
    replayDeliveries: (name: BulkReplayName): Promise<BulkReplayStanding> => bulkReplaySteps.advance(name),

    /** An operator cancels the recovery. A refusal is final: it is not tried again. */
    cancelRecovery: async (name: BulkReplayName, reason: string | null): Promise<void> => {
      await refuseForGood(() => bulkReplays.cancelByOperator(name, reason ?? undefined));
    },
  };
}

export type BulkRecoveryActivities = ReturnType<typeof createBulkRecoveryActivities>;
