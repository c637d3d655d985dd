// The metrics that every process has. All values of labels are known when the process starts: no tenant, id, host or
// path of a client.
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

/**
 * Registers the metrics of every process: memory, event loop, role and version.
 * @param process.role `api` or `worker`
 * @param process.version of the release
 */
export function registerProcess({
  registry,
  role,
  version,
}: {
  registry: Registry;
  role: string;
  version: string;
}): void {
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'countersign_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['role', 'version', 'node'],
    registers: [registry],
  }).set({ role, version, node: process.version }, 1);
}

/**
 * Registers a gauge that is 1 while the process is ready.
 * @param readiness as `/readyz` reports it; an unknown state counts as not ready
 */
export function registerReadiness({
  registry,
  readiness,
}: {
  registry: Registry;
  readiness: () => Promise<{ readonly ready: boolean }>;
}): void {
  new Gauge({
    name: 'countersign_ready',
    help: 'Whether this process is ready, as /readyz says it: 1 or 0.',
    registers: [registry],
    async collect() {
      const ready = await readiness().then(
        (said) => said.ready,
        () => false,
      );
      this.set(ready ? 1 : 0);
    },
  });
}
