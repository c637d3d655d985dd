// Wires the metrics of the accounts of deliveries.
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/platform.ts';
import { registerAccountMetrics } from './account.metrics.ts';
import type { AccountSums } from './account.store.ts';

/** @param readStanding reads the sums as they were counted last */
export function measureAccounts(
  { registry }: Platform,
  createReading: Readings,
  readStanding: () => Promise<AccountSums>,
): void {
  const read = createReading({ accounts: readStanding });
  registerAccountMetrics({ registry, read: () => read('accounts') });
}
