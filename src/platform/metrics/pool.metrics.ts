// Metrics of the connection pool, read from memory without a query.
import { Gauge, type Registry } from 'prom-client';

/** Numbers of connections: the limit, the open ones, the idle ones; and the work that waits, by kind. */
export type PoolUse = {
  readonly max: number;
  readonly size: number;
  readonly idle: number;
  readonly waiting: Readonly<Record<'connection' | 'transaction', number>>;
};

type PoolMetricsNeeds = { registry: Registry; poolUse: () => PoolUse };

/** @param options.poolUse reads the current state of the pool */
export function registerPoolMetrics({ registry, poolUse }: PoolMetricsNeeds): void {
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
