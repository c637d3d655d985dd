// Wires the sealing of the audit log in a worker, and its metric.
import { reasonOf } from '../platform/logging.ts';
import type { Readings } from '../platform/metrics/reading.ts';
import type { Platform } from '../platform/platform.ts';
import { AuditSealer } from './audit-sealing.service.ts';
import * as checkpointStore from './checkpoint.store.ts';
import { findOldestOpen } from './open-transaction.store.ts';
import { registerSealerMetrics } from './sealer.metrics.ts';

/** Wires the sealer, which runs in a worker process. */
export function wireAuditSealer({ config, database, log }: Platform) {
  return new AuditSealer({
    database,
    auditKeys: config.auditKeys,
    onFailure: atMostOnceAMinute((error) =>
      log.error(
        { event: 'audit.seal_failed', reason: reasonOf(error) },
        'the audit log could not be sealed; trying again',
      ),
    ),
  });
}

/** Registers the metrics of sealing. Each scrape reads them. */
export function measureSealer({ database, registry }: Platform, createReading: Readings): void {
  const read = createReading({
    unsealed: () => checkpointStore.unsealedSeconds(database),
    oldestOpen: () => findOldestOpen(database),
  });
  registerSealerMetrics({
    registry,
    readUnsealed: () => read('unsealed'),
    readOldestOpen: () => read('oldestOpen'),
  });
}

/** Reports an error at most once a minute, because the sealer can repeat the same error every second. */
function atMostOnceAMinute(report: (error: unknown) => void): (error: unknown) => void {
  let reported = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - reported < 60_000) return;
    reported = performance.now();
    report(error);
  };
}
