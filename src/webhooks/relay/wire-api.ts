// Wires what an API process has of the relay. It loads nothing of Temporal.
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { DirectAttemptService } from './direct-attempts.service.ts';
import { type FirstAttemptNeeds, FirstAttemptService } from './first-attempt.service.ts';

/** Wires the first attempts that an API process makes of events it has accepted; undefined where workers make all. */
export function wireDirectAttempts(
  { config, database, log, notifier, tracing }: Platform,
  rooms: FirstAttemptNeeds,
) {
  if (config.firstAttempts !== 'api') return undefined;
  return new DirectAttemptService({
    database,
    notifier,
    firstAttempts: new FirstAttemptService({ ...rooms, tracing }),
    onFailure: (error) =>
      log.warn({ event: 'relay.failed', reason: reasonOf(error) }, 'relays make the first attempts'),
  });
}
