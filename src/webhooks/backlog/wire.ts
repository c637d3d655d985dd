// Wires the metrics of the backlog, and the count of deliveries that wait.
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { registerBacklogMetrics } from './backlog.metrics.ts';
import * as backlog from './backlog.store.ts';

/** @returns a function that counts the deliveries that wait */
export function wireWaitingCount({ database }: Platform) {
  return () => backlog.countWaiting(database);
}

export function measureBacklog(platform: Platform, createReading: Readings): void {
  registerBacklogMetrics(platform, createReading);
}
