// How much of the two connection pools is in use. Read from memory: no question to the database.
import { Gauge, type Registry } from 'prom-client';

/** Connections of a pool: those that are open, those of them that nobody uses, and those who wait for one. */
export type PoolUse = { readonly size: number; readonly idle: number; readonly waiting: number };

/** @param options.pools by name: what each reads at this moment, and its greatest size */
export function registerPoolMetrics({
  registry,
  pools,
}: {
  registry: Registry;
  pools: Readonly<Record<string, { readonly max: number; use(): PoolUse }>>;
}): void {
  new Gauge({
    name: 'countersign_database_pool_connections',
    help: 'Connections of a pool by what they do: in use, or idle.',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { use }] of Object.entries(pools)) {
        const { size, idle } = use();
        this.set({ pool, state: 'used' }, size - idle);
        this.set({ pool, state: 'idle' }, idle);
      }
    },
  });
  new Gauge({
    name: 'countersign_database_pool_waiting',
    help: 'Work that waits for a connection of a pool.',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, { use }] of Object.entries(pools)) this.set({ pool }, use().waiting);
    },
  });
  const most = new Gauge({
    name: 'countersign_database_pool_max_connections',
    help: 'The most connections that a pool may have.',
    labelNames: ['pool'],
    registers: [registry],
  });
  for (const [pool, { max }] of Object.entries(pools)) most.set({ pool }, max);
}
