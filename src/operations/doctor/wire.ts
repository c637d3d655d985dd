// Wires the metrics of the archive of the WAL.
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/platform.ts';
import { registerArchiveMetrics } from './archive.metrics.ts';
import { readArchive } from './cluster.store.ts';

/** Registers the metrics. Each scrape reads them. */
export function measureArchive({ database, registry }: Platform, createReading: Readings): void {
  const read = createReading({ archive: () => readArchive(database) });
  registerArchiveMetrics({ registry, read: () => read('archive') });
}
