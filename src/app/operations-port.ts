// Where operators ask a process for its liveness, readiness and metrics.
import { once } from 'node:events';
import type { Config } from '../platform/config.ts';
import { createOperationsServer, type Readiness } from '../platform/http/operations-server.ts';
import { registerPoolMetrics } from '../platform/metrics/pool.metrics.ts';
import { registerProcess, registerReadiness } from '../platform/metrics/registry.ts';
import type { Platform } from '../platform/platform.ts';
import { VERSION } from '../platform/version.ts';
import { explainListen } from './local/ports.ts';

/** Registers what every process tells of itself. */
export function measureProcess(
  { registry, database }: Platform,
  { role, readiness }: { role: string; readiness: () => Promise<Readiness> },
): void {
  registerProcess({ registry, role, version: VERSION });
  registerPoolMetrics({ registry, poolUse: database.poolUse });
  registerReadiness({ registry, readiness });
}

/**
 * Serves liveness, readiness and metrics for operators, where the settings say so.
 * @param options.part whose it is, for the line that says why it cannot listen
 * @param options.onMissing told why nobody listens, where the process can do without; without it that is an error
 * @returns how to close it
 * @throws LocalStackError with one line when its port cannot be had
 */
export async function serveOperations(
  { metricsHost: host, metricsPort: port }: Pick<Config, 'metricsHost' | 'metricsPort'>,
  {
    part,
    readiness,
    metrics,
    onMissing,
  }: {
    part: string;
    readiness: () => Promise<Readiness>;
    metrics: () => Promise<string>;
    onMissing?: ((error: unknown) => void) | undefined;
  },
): Promise<{ close(): void }> {
  if (port === 0) return { close: () => undefined };
  const server = createOperationsServer({ readiness, metrics });
  server.listen({ host, port });
  try {
    await once(server, 'listening');
  } catch (error) {
    const explained = explainListen(error, { host, port, variable: 'METRICS_PORT', part });
    if (onMissing === undefined) throw explained;
    onMissing(explained);
  }
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
