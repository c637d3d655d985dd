// Wires the audit log: reading by tenants, sealing by a worker, verification by an operator.
import { reasonOf } from '../platform/logging.ts';
import type { Readings } from '../platform/metrics/reading.ts';
import type { Platform } from '../platform/platform.ts';
import { createAuditRoutes } from './audit.routes.ts';
import { createAuditReadingService } from './audit-reading.service.ts';
import { createAuditSealer } from './audit-sealing.service.ts';
import { createAuditVerificationService } from './audit-verification.service.ts';
import * as checkpointStore from './checkpoint.store.ts';
import { registerSealerMetrics } from './sealer.metrics.ts';
import { createVerificationStore } from './verification.store.ts';

/** Wires reading by tenants. */
export function wireAudit({ database }: Platform) {
  return { routes: createAuditRoutes({ auditLogs: createAuditReadingService({ database }) }) };
}

/** The sealer of a worker. */
export function wireAuditSealer({ config, database, log }: Platform) {
  return createAuditSealer({
    database,
    masterKeys: config.masterKeys,
    onFailure: atMostOnceAMinute((error) =>
      log.error(
        { event: 'audit.seal_failed', reason: reasonOf(error) },
        'the audit log could not be sealed; trying again',
      ),
    ),
  });
}

/** Registers the metric of sealing, which is read at each scrape. */
export function measureSealer({ database, registry }: Platform, createReading: Readings): void {
  const read = createReading({ unsealed: () => checkpointStore.unsealedSeconds(database) });
  registerSealerMetrics({ registry, read: () => read('unsealed') });
}

export function wireAuditVerification({ config, database }: Platform) {
  const store = createVerificationStore({ database });
  return createAuditVerificationService({ database, store, masterKeys: config.masterKeys });
}

/** Limits reports of an error that recurs each second to one a minute. */
function atMostOnceAMinute(report: (error: unknown) => void): (error: unknown) => void {
  let reported = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - reported < 60_000) return;
    reported = performance.now();
    report(error);
  };
}
