// The metrics of Temporal's SDK. Its core serves them on a separate port, which only this process reads. `/metrics`
// shows them after those of the service.

import type { MetricsExporterConfig } from '@temporalio/worker';
import { Gauge, type Registry } from 'prom-client';
import { fetchWhole } from '../../../packages/agent/src/whole-answer.ts';
import { mergeExpositions } from '../metrics/exposition.ts';

/** Milliseconds in which the core has to answer. */
const PATIENCE = 1_000;
const TRIES = 5;

type InstallWithMetricsOptions = {
  install: (metrics: MetricsExporterConfig) => void;
  findPort: () => Promise<number>;
};

/**
 * Finds a port for the core's metrics.
 * @param options.install sets up the core with its exporter, and throws when the port is busy
 * @param options.findPort returns a free port of loopback
 * @returns the address of the core's metrics
 * @throws the error of the last `install`
 */
export async function installWithMetrics({ install, findPort }: InstallWithMetricsOptions): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const bindAddress = `127.0.0.1:${await findPort()}`;
    try {
      install({
        attachServiceName: false,
        // Prometheus expects these names and units.
        prometheus: {
          bindAddress,
          countersTotalSuffix: true,
          unitSuffix: true,
          useSecondsForDurations: true,
        },
      });
      return `http://${bindAddress}/metrics`;
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

type MergedMetricsNeeds = { registry: Registry; address: string };

/**
 * @param options.address of the core's metrics
 * @returns the text of `/metrics`: the service's metrics, and those of the core if it answers in time
 */
export function createMergedMetrics({ registry, address }: MergedMetricsNeeds): () => Promise<string> {
  const up = new Gauge({
    name: 'countersign_temporal_metrics_up',
    help: "Whether the metrics of Temporal's SDK could be read for this answer: 1 or 0.",
    registers: [registry],
  });
  return async () => {
    const core = await readCore(address).catch(() => undefined);
    up.set(core === undefined ? 0 : 1);
    return mergeExpositions(await registry.metrics(), core ?? '');
  };
}

async function readCore(address: string): Promise<string> {
  const response = await fetchWhole(fetch, address, {}, PATIENCE);
  if (!response.ok) throw new Error(`The metrics of the core: ${response.status}`);
  return response.text();
}
