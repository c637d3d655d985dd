// Wires the count of the hours.
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { createHourCounter } from './hour-count.service.ts';

export function wireHourCounter({ database, log }: Platform) {
  return createHourCounter({
    database,
    onFailure: (error) =>
      log.warn({ event: 'hours.failed', reason: reasonOf(error) }, 'the hours are counted a minute later'),
  });
}
