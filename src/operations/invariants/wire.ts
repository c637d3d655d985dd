// Wires the sweep, and the metrics of the invariants and of the archive of the WAL.
import { reasonOf } from '../../platform/logging.ts';
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { registerArchiveMetrics } from './archive.metrics.ts';
import { readArchive } from './cluster.store.ts';
import { registerInvariantMetrics } from './invariant.metrics.ts';
import type { Invariant } from './invariant.ts';
import { SweepService } from './sweep.service.ts';

/** Wires the sweep of a worker. */
export function wireSweep<Tools>(
  { database, log }: Platform,
  needs: { invariants: readonly Invariant<Tools>[]; tools: Tools },
) {
  return new SweepService({
    ...needs,
    database,
    onSwept: (report) => log.info({ event: 'sweep.mended', ...report }, 'the sweep mended something'),
    onFailure: (error) =>
      log.warn({ event: 'sweep.failed', reason: reasonOf(error) }, 'a part of the sweep failed'),
  });
}

/** Registers the metrics. Each scrape reads them. */
export function measureInvariants<Tools>(
  { database, registry }: Platform,
  createReading: Readings,
  invariants: readonly Invariant<Tools>[],
): void {
  const finds = invariants.map(({ name, find, late }) => [name, () => find(database, late)] as const);
  const read = createReading(Object.fromEntries(finds));
  registerInvariantMetrics({
    registry,
    read: () => Promise.all(invariants.map(async (one) => ({ ...one, breach: await read(one.name) }))),
  });
  const readOfArchive = createReading({ archive: () => readArchive(database) });
  registerArchiveMetrics({ registry, read: () => readOfArchive('archive') });
}
