// Wires the metrics of the backlog, and the count of deliveries that wait.
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/platform.ts';
import { registerBacklogMetrics } from './backlog.metrics.ts';
import * as backlog from './backlog.store.ts';

/** @returns a function that counts the deliveries that wait */
export function wireWaitingCount({ database }: Platform) {
  return () => backlog.countWaiting(database);
}

export function measureBacklog({ database, registry }: Platform, createReading: Readings): void {
  const read = createReading({
    rows: () => backlog.countRows(database),
    endpoints: () => backlog.countEndpoints(database),
    lag: () => backlog.readLag(database),
    relays: () => backlog.countRelays(database),
  });
  registerBacklogMetrics({
    registry,
    read: {
      rows: () => read('rows'),
      endpoints: () => read('endpoints'),
      lag: () => read('lag'),
      relays: () => read('relays'),
    },
  });
}
