// Wires the start of the sweeps of overdue challenges, in a worker.
import type { Client } from '@temporalio/client';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { createExpiryKeeper } from './challenge-expiry.client.ts';
import type { ExpiryService } from './challenge-expiry.service.ts';

/** Wires the start of each sweep's workflow. @param rooms.client starts workflows */
export function wireExpiryKeeper(
  { log }: Platform,
  rooms: { client: Client; expiry: Pick<ExpiryService, 'readClock'> },
) {
  return createExpiryKeeper({
    ...rooms,
    onFailure: (error) =>
      log.warn(
        { event: 'challenge_expiry.failed', reason: reasonOf(error) },
        'challenges wait for their sweep; trying again',
      ),
  });
}
