// Serves liveness, readiness and metrics of a process to operators.
// docs/decisions/0017-metrics.md
import { once } from 'node:events';
import { ObjectiveKeeper } from '../operations/objectives/objective.service.ts';
import type { Config } from '../platform/config.ts';
import { type ClockComparison, createClockComparison } from '../platform/database/clock-skew.client.ts';
import { probeSession } from '../platform/database/session.ts';
import { createOperationsServer, type Readiness } from '../platform/http/operations-server.ts';
import { reasonOf } from '../platform/logging.ts';
import {
  registerClockSkew,
  registerPool,
  registerProcess,
  registerReadiness,
} from '../platform/metrics/registry.ts';
import type { Platform } from '../platform/opening/platform.ts';
import { VERSION } from '../platform/version.ts';
import { explainListen } from './local/ports.ts';

/** Registers the metrics that every process has. @returns `clocks` and `keeper`, which the process must start */
export function measureProcess(
  { registry, objectives, database, log, clock }: Platform,
  { role, readiness }: { role: string; readiness: () => Promise<Readiness> },
): { clocks: ClockComparison; keeper: Pick<ObjectiveKeeper, 'start'> } {
  const clocks = createClockComparison({
    database,
    now: () => Date.now(),
    onSkewed: (seconds) =>
      log.warn({ event: 'clock.skewed', seconds }, "the clock of this machine is not the database's"),
  });
  registerProcess({ registry, role, version: VERSION });
  registerPool({ registry, poolUse: database.poolUse });
  registerReadiness({ registry, readiness });
  registerClockSkew({ registry, seconds: clocks.seconds });
  return { clocks, keeper: new ObjectiveKeeper({ database, objectives, now: clock.now }) };
}

/** Probes the database for readiness. @throws what `probeSession` throws, which is logged as well */
export const probeDatabase = ({ database, log }: Pick<Platform, 'database' | 'log'>): Promise<void> =>
  probeSession(database).catch((error: unknown) => {
    log.warn({ event: 'database.unusable', reason: reasonOf(error) }, 'the database cannot be used');
    throw error;
  });

type ServeOperationsOptions = {
  part: string;
  readiness: () => Promise<Readiness>;
  metrics: () => Promise<string>;
  onMissing?: ((error: unknown) => void) | undefined;
};

/**
 * Opens the port, if the settings ask for it.
 * @param options.part name of the process in the error
 * @param options.onMissing receives the error when the process can run without this port; without it the error is
 *   thrown
 * @returns a function that closes the server
 * @throws LocalStackError with one line when its port is not free
 */
export async function serveOperations(
  { metricsHost: host, metricsPort: port }: Pick<Config, 'metricsHost' | 'metricsPort'>,
  { part, readiness, metrics, onMissing }: ServeOperationsOptions,
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
