// Wires bulk replays, and the steps of their workflow.
import type { Platform } from '../../platform/opening/platform.ts';
import { type BulkReplayNeeds, BulkReplayService } from './bulk-replay.service.ts';
import { type BulkReplayStepNeeds, BulkReplayStepService } from './bulk-replay-steps.service.ts';

/** @param pace shorter in tests */
export function wireReplays(
  { database, notifier }: Platform,
  rooms: Omit<BulkReplayNeeds & BulkReplayStepNeeds, 'database' | 'notifier' | 'store' | 'pace'>,
  pace?: BulkReplayStepNeeds['pace'],
) {
  const needs = { ...rooms, database, notifier };
  return {
    bulkReplays: new BulkReplayService(needs),
    bulkReplaySteps: new BulkReplayStepService({ ...needs, pace }),
  };
}
