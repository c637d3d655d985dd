// The accounts of deliveries as metrics of a worker: sums without tenants, whose number has no bound; the log names them.
import { Gauge, type Registry, register } from 'prom-client';
import type { Standing } from './account.store.ts';

type Values = readonly (readonly [labels: Record<string, string>, value: number | null])[];

/**
 * Registers the gauges. They are read when they are asked for, so that each worker tells the same; while the database is away they are
 * not there at all.
 * @param options.read the standing of all accounts
 */
export function registerAccountMetrics({
  read,
  registry = register,
}: {
  read: () => Promise<Standing>;
  registry?: Registry | undefined;
}): void {
  // Gauges are read all at once: one question for all of them.
  let asking: Promise<Standing | undefined> | undefined;
  const ask = (): Promise<Standing | undefined> => {
    asking ??= read()
      .catch(() => undefined)
      .finally(() => {
        asking = undefined;
      });
    return asking;
  };
  const define = (name: string, help: string, values: (standing: Standing) => Values): Gauge =>
    new Gauge({
      name: `countersign_delivery_account${name}`,
      help,
      labelNames: ['cause'],
      registers: [registry],
      async collect() {
        const standing = await ask();
        this.reset();
        if (standing === undefined) return;
        for (const [labels, value] of values(standing)) if (value !== null) this.set(labels, value);
      },
    });
  define(
    '_difference',
    'Deliveries of the last days that were accepted and are not accounted for.',
    ({ lost, stranded }) => [
      [{ cause: 'lost' }, lost],
      [{ cause: 'stranded' }, stranded],
    ],
  );
  define('_tenants', 'Tenants with an account of the last days that does not add up.', ({ tenants }) => [
    [{}, tenants],
  ]);
  define('s_age_seconds', 'Seconds since a day of the accounts was counted last.', ({ ageSeconds }) => [
    [{}, ageSeconds],
  ]);
}
