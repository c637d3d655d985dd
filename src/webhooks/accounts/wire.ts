// Wires the accounts of deliveries: the routes for tenants, and the count in a worker.
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/platform.ts';
import { registerAccountMetrics } from './account.metrics.ts';
import { createAccountRoutes } from './account.routes.ts';
import { createAccountService } from './account.service.ts';
import * as accountStore from './account.store.ts';
import { createAccountReadingService } from './account-reading.service.ts';

export function wireAccounts({ database, log }: Platform) {
  return {
    accounts: createAccountService({
      database,
      onDifference: (account) =>
        log.error({ event: 'accounts.difference', ...account }, 'deliveries are not accounted for'),
    }),
    /** Reads the sums as they were counted last, of days whose deliveries are still kept. */
    readStanding: ({ keptDays }: { keptDays: number }) => accountStore.sum(database, keptDays + 1),
    routes: createAccountRoutes({ accounts: createAccountReadingService({ database }) }),
  };
}

export function measureAccounts(
  { registry }: Platform,
  createReading: Readings,
  readStanding: () => Promise<accountStore.AccountSums>,
): void {
  const read = createReading({ accounts: readStanding });
  registerAccountMetrics({ registry, read: () => read('accounts') });
}

export const purgesOfAccounts = ({ accountDays }: { accountDays: number }) => ({
  accounts: (queryable: Parameters<typeof accountStore.purge>[0], limit: number) =>
    accountStore.purge(queryable, accountDays, limit),
});
