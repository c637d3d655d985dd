// The metrics that every process has. All values of labels are known when the process starts: no tenant, id, host or
// path of a client.
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import type { Database } from '../database/database.ts';
import { createGauges } from './gauges.ts';

type ProcessNeeds = { registry: Registry; role: string; version: string };

/** Milliseconds between two looks at the event loop. By the default of 10 an idle process wakes 100 times a second. */
const EVENT_LOOP_PRECISION = 50;

/**
 * Registers the metrics of every process: memory, event loop, role and version.
 * @param process.role `api` or `worker`
 * @param process.version of the release
 */
export function registerProcess({ registry, role, version }: ProcessNeeds): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_PRECISION });
  new Gauge({
    name: 'countersign_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['role', 'version', 'node'],
    registers: [registry],
  }).set({ role, version, node: process.version }, 1);
}

type ReadinessNeeds = { registry: Registry; readiness: () => Promise<{ readonly ready: boolean }> };

/**
 * Registers a gauge that is 1 while the process is ready.
 * @param readiness as `/readyz` reports it; an unknown state counts as not ready
 */
export function registerReadiness({ registry, readiness }: ReadinessNeeds): void {
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

type ClockSkewNeeds = { registry: Registry; seconds: () => number | null };

/** Registers the difference between the clock of this process and the database's. @param seconds null: not known */
export function registerClockSkew({ registry, seconds }: ClockSkewNeeds): void {
  createGauges({ registry, read: async () => ({ seconds: seconds() }) })(
    {
      name: 'countersign_clock_skew_seconds',
      help: "Seconds by which the clock of this process is ahead of the database's.",
    },
    (read) => [[{}, read.seconds]],
  );
}

type PoolNeeds = { registry: Registry; poolUse: Database['poolUse'] };

/** Registers the connections of the pool, read from memory without a query. */
export function registerPool({ registry, poolUse }: PoolNeeds): void {
  new Gauge({
    name: 'countersign_database_pool_connections',
    help: 'Connections of the pool by what they do: in use, or idle.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { size, idle } = poolUse();
      this.set({ state: 'used' }, size - idle);
      this.set({ state: 'idle' }, idle);
    },
  });
  new Gauge({
    name: 'countersign_database_pool_waiting',
    help: 'Work that waits for a connection of the pool, or to begin a transaction.',
    labelNames: ['for'],
    registers: [registry],
    collect() {
      for (const [wanted, count] of Object.entries(poolUse().waiting)) this.set({ for: wanted }, count);
    },
  });
  new Gauge({
    name: 'countersign_database_pool_max_connections',
    help: 'The most connections that the pool may have.',
    registers: [registry],
  }).set(poolUse().max);
}
