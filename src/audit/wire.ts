// Wires the sealing of the audit log in a worker.
import { reasonOf } from '../platform/logging.ts';
import type { Platform } from '../platform/opening/platform.ts';
import { AuditSealer } from './audit-sealing.service.ts';

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

/** Reports an error at most once a minute, because the sealer can repeat the same error every second. */
function atMostOnceAMinute(report: (error: unknown) => void): (error: unknown) => void {
  let reported = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - reported < 60_000) return;
    reported = performance.now();
    report(error);
  };
}
