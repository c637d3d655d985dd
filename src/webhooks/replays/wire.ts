// Wires bulk replays, and the steps of their workflow.
import type { Platform } from '../../platform/platform.ts';
import { type BulkReplayNeeds, createBulkReplayService } from './bulk-replay.service.ts';
import { type BulkReplayStepNeeds, createBulkReplayStepService } from './bulk-replay-steps.service.ts';

/** @param pace shorter in tests */
export function wireReplays(
  { database, notifier }: Platform,
  rooms: Omit<BulkReplayNeeds & BulkReplayStepNeeds, 'database' | 'notifier' | 'store' | 'pace'>,
  pace?: BulkReplayStepNeeds['pace'],
) {
  const needs = { ...rooms, database, notifier };
  return {
    bulkReplays: createBulkReplayService(needs),
    bulkReplaySteps: createBulkReplayStepService({ ...needs, pace }),
  };
}
