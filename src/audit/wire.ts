// Wires the audit log: tenants read it, a worker seals it, an operator verifies it.
import { reasonOf } from '../platform/logging.ts';
import type { Readings } from '../platform/metrics/reading.ts';
import type { Needs, Platform } from '../platform/platform.ts';
import { type AccessRecordService, createAccessRecordService } from './access-record.service.ts';
import { createAuditRoutes } from './audit.routes.ts';
import { createAuditProofService } from './audit-proof.service.ts';
import { createAuditReadingService } from './audit-reading.service.ts';
import { createAuditSealer } from './audit-sealing.service.ts';
import { createAuditVerificationService } from './audit-verification.service.ts';
import { createAuditBeginning } from './beginning.service.ts';
import * as checkpointStore from './checkpoint.store.ts';
import { registerSealerMetrics } from './sealer.metrics.ts';
import { createVerificationStore } from './verification.store.ts';

/** Wires the records of requests that change nothing. A process closes it before the database. */
export function wireAccessRecords({ database, log }: Platform) {
  return createAccessRecordService({ database, log });
}

/** Wires the reading of the log by tenants. */
export function wireAudit({ database }: Platform, rooms: { accesses: Pick<AccessRecordService, 'note'> }) {
  return {
    routes: createAuditRoutes({
      auditLogs: createAuditReadingService({ ...rooms, database }),
      auditProofs: createAuditProofService({ ...rooms, database }),
    }),
  };
}

/** Wires the sealer, which runs in a worker process. */
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

/** Wires the beginning of the log, which `migrate` signs. */
export function wireAuditBeginning(
  { config, database }: Platform,
  rooms: Needs<typeof createAuditBeginning, 'database' | 'masterKeys'>,
) {
  return createAuditBeginning({ ...rooms, database, masterKeys: config.masterKeys });
}

/** Registers the metric of sealing. Each scrape reads it. */
export function measureSealer({ database, registry }: Platform, createReading: Readings): void {
  const read = createReading({ unsealed: () => checkpointStore.unsealedSeconds(database) });
  registerSealerMetrics({ registry, read: () => read('unsealed') });
}

export function wireAuditVerification({ config, database }: Platform) {
  const store = createVerificationStore({ database });
  return createAuditVerificationService({ database, store, masterKeys: config.masterKeys });
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
