// Metrics of a worker process: how long the oldest row of the audit log has been waiting for its seal, and what keeps
// the sealer back.
import type { Registry } from 'prom-client';
import { createGauges } from '../platform/metrics/gauges.ts';
import type { OpenTransaction } from './open-transaction.store.ts';

/** The service's own transactions end earlier. The metric has one series for each transaction that it shows. */
const SHOWN_AFTER_SECONDS = 10;

type SealerMetricsNeeds = {
  registry: Registry;
  readUnsealed: () => Promise<number | undefined>;
  readOldestOpen: () => Promise<OpenTransaction | undefined>;
};

/**
 * @param options.readUnsealed returns the age in seconds of the oldest unsealed row, 0 without one, undefined when
 *   unknown
 */
export function registerSealerMetrics({ registry, readUnsealed, readOldestOpen }: SealerMetricsNeeds): void {
  createGauges({ registry, read: readUnsealed })(
    {
      name: 'countersign_audit_unsealed_seconds',
      help: 'Age of the oldest row of the audit log that is not sealed yet; 0 when there is none.',
    },
    (seconds) => [[{}, seconds]],
  );
  createGauges({ registry, read: readOldestOpen })(
    {
      name: 'countersign_audit_held_seconds',
      help: 'Age of the open transaction that keeps the sealer back, if it is older than 10 s; pid of its session.',
      labelNames: ['database', 'role', 'pid'],
    },
    ({ seconds, ...labels }) => (seconds < SHOWN_AFTER_SECONDS ? [] : [[labels, seconds]]),
  );
}
