// Wires the metrics of the accounts of deliveries, and the count of the hours.
import { reasonOf } from '../../platform/logging.ts';
import type { Readings } from '../../platform/metrics/reading.ts';
import type { Platform } from '../../platform/platform.ts';
import { registerAccountMetrics } from './account.metrics.ts';
import type { AccountSums } from './account.store.ts';
import { createHourCounter } from './hour-count.service.ts';

/** @param readStanding reads the sums as they were counted last */
export function measureAccounts(
  { registry }: Platform,
  createReading: Readings,
  readStanding: () => Promise<AccountSums>,
): void {
  const read = createReading({ accounts: readStanding });
  registerAccountMetrics({ registry, read: () => read('accounts') });
}

export function wireHourCounter({ database, log }: Platform) {
  return createHourCounter({
    database,
    onFailure: (error) =>
      log.warn({ event: 'hours.failed', reason: reasonOf(error) }, 'the hours are counted a minute later'),
  });
}
