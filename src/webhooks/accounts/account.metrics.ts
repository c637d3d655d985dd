// The metrics of the delivery accounts. They are sums over all tenants, so that the number of series has a bound.
import type { Registry } from 'prom-client';
import { createGauges } from '../../platform/metrics/gauges.ts';
import type { AccountSums } from './account.store.ts';

/** Registers gauges that are read at each scrape. They are absent while the database is unreachable. */
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
