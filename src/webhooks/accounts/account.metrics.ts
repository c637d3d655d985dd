// The metrics of the accounts of deliveries: sums without tenants, whose number has no bound; the log names them.
import type { Registry } from 'prom-client';
import { createGauges } from '../../platform/metrics/gauges.ts';
import type { AccountSums } from './account.store.ts';

/**
 * Registers the gauges. They are read at each scrape, so that all workers show the same; while the database is away
 * they are absent.
 * @param options.read the sums of all accounts
 */
export function registerAccountMetrics({
  registry,
  read,
}: {
  registry: Registry;
  read: () => Promise<AccountSums | undefined>;
}): void {
  const define = createGauges({ registry, read });
  define(
    {
      name: 'countersign_delivery_account_difference',
      help: 'Deliveries of the last days that were accepted and are not accounted for.',
      labelNames: ['cause'],
    },
    ({ lost, stranded }) => [
      [{ cause: 'lost' }, lost],
      [{ cause: 'stranded' }, stranded],
    ],
  );
  define(
    {
      name: 'countersign_delivery_account_tenants',
      help: 'Tenants with an account of the last days that does not add up.',
    },
    ({ tenants }) => [[{}, tenants]],
  );
  define(
    {
      name: 'countersign_delivery_accounts_age_seconds',
      help: 'Seconds since a day of the accounts was counted last.',
    },
    ({ ageSeconds }) => [[{}, ageSeconds]],
  );
}
