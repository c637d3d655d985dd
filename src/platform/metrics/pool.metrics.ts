// Metrics of the connection pool's use. Read from memory, without a query.
import { Gauge, type Registry } from 'prom-client';

/**
 * Connections that are open, the idle ones among them, the greatest number, and the works that wait, by what they wait
 * for.
 */
export type PoolUse = {
  readonly max: number;
  readonly size: number;
  readonly idle: number;
  readonly waiting: Readonly<Record<'connection' | 'transaction', number>>;
};

/** @param options.poolUse reads the pool at this moment */
export function registerPoolMetrics({
  registry,
  poolUse,
}: {
  registry: Registry;
  poolUse: () => PoolUse;
}): void {
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
