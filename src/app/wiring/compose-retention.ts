// The wiring of retention and of the daily accounts in a worker: what each room purges, and how. Like compose.ts it must hold no rule of its own.

import type { Logger } from 'pino';
import * as challengeStore from '../../authentication/challenges/challenge.store.ts';
import * as dpopStore from '../../authentication/dpop/dpop.store.ts';
import * as clientAssertionStore from '../../authentication/tokens/client-assertion.store.ts';
import * as refreshTokenStore from '../../authentication/tokens/refresh-token.store.ts';
import * as revocationStore from '../../authentication/tokens/revocation.store.ts';
import * as enrollmentStore from '../../identity/enrollments/enrollment.store.ts';
import { createRetentionService } from '../../operations/retention/retention.service.ts';
import { ACCOUNT_DAYS, KEPT_DAYS } from '../../operations/retention/retention.ts';
import * as idempotencyStore from '../../platform/http/idempotency.store.ts';
import * as limitCountsStore from '../../platform/http/limit-counts.store.ts';
import { createAccountService } from '../../webhooks/accounts/account.service.ts';
import * as accountStore from '../../webhooks/accounts/account.store.ts';
import { createDeliveryExpiryService } from '../../webhooks/deliveries/delivery-expiry.service.ts';
import * as expiryStore from '../../webhooks/deliveries/delivery-expiry.store.ts';
import * as bulkReplayStore from '../../webhooks/replays/bulk-replay.store.ts';
import type { Core } from './compose.ts';

export function composeRetention(
  { database, audit, eventStore, notifier }: Pick<Core, 'database' | 'audit' | 'eventStore' | 'notifier'>,
  { logger }: { logger: Logger },
) {
  const accounts = createAccountService({
    database,
    store: accountStore,
    onDifference: (account) => logger.error(account, 'deliveries are not accounted for'),
  });
  const retention = createRetentionService({
    database,
    accounts,
    expiry: createDeliveryExpiryService({ database, audit, onWork: notifier.poke }),
    purges: {
      challenges: challengeStore.purge,
      'idempotency keys': idempotencyStore.purge,
      'published event ids': (queryable, limit) => eventStore.purgePublished(queryable, KEPT_DAYS, limit),
      'refresh tokens': refreshTokenStore.purge,
      'enrollment tokens': enrollmentStore.purge,
      'client assertions': clientAssertionStore.purge,
      'DPoP proofs': dpopStore.purge,
      revocations: revocationStore.purge,
      'rate limits': limitCountsStore.purge,
      'work of old deliveries': (queryable, limit) => expiryStore.purgeWork(queryable, KEPT_DAYS, limit),
      'rows without a partition': (queryable, limit) => expiryStore.purgeSpare(queryable, KEPT_DAYS, limit),
      'bulk recoveries': bulkReplayStore.purge,
      accounts: (queryable, limit) => accountStore.purge(queryable, ACCOUNT_DAYS, limit),
    },
  });
  return {
    retention,
    readStanding: () => accountStore.standing(database, KEPT_DAYS + 1),
  };
}
