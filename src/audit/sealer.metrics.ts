// A worker's metric of the delay of sealing.
import type { Registry } from 'prom-client';
import { createGauges } from '../platform/metrics/gauges.ts';

/**
 * @param options.read seconds since the oldest unsealed row was written, 0 when there is none, undefined while unknown
 */
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
