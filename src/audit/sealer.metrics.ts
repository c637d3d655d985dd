// Metric of a worker process: how long the oldest row of the audit log has been waiting for its seal.
import type { Registry } from 'prom-client';
import { createGauges } from '../platform/metrics/gauges.ts';

/** @param options.read returns the age in seconds of the oldest unsealed row, 0 without one, undefined when unknown */
export function registerSealerMetrics({
  registry,
  read,
}: {
  registry: Registry;
  read: () => Promise<number | undefined>;
}): void {
  createGauges({ registry, read })(
    {
      name: 'countersign_audit_unsealed_seconds',
      help: 'Age of the oldest row of the audit log that is not sealed yet; 0 when there is none.',
    },
    (seconds) => [[{}, seconds]],
  );
}
