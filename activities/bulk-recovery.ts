// The activities of bulkRecovery: each calls one use case.
import type { BulkRecoveryService } from '../src/webhooks/replays/bulk-replay.service.ts';
import type { RecoveryName } from '../src/webhooks/replays/bulk-replay.store.ts';
import type {
  BulkRecoveryStepService,
  RecoveryStanding,
} from '../src/webhooks/replays/bulk-replay-steps.service.ts';
import { refuseForGood } from './operator-refusal.ts';

/** @returns the activities of bulkRecovery, each safe to repeat */
export function createBulkRecoveryActivities({
  bulkRecoverySteps,
  bulkRecoveries,
}: {
  bulkRecoverySteps: Pick<BulkRecoveryStepService, 'advance'>;
  bulkRecoveries: Pick<BulkRecoveryService, 'cancelByOperator'>;
}) {
  return {
    /** Replays the next deliveries, or names the reason to wait. */
    replayDeliveries: (name: RecoveryName): Promise<RecoveryStanding> => bulkRecoverySteps.advance(name),

    /** An operator cancels the recovery. A refusal is final: it is not tried again. */
    cancelRecovery: async (name: RecoveryName, reason: string | null): Promise<void> => {
      await refuseForGood(() => bulkRecoveries.cancelByOperator(name, reason ?? undefined));
    },
  };
}

export type BulkRecoveryActivities = ReturnType<typeof createBulkRecoveryActivities>;
