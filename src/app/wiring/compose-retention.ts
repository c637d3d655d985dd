// The wiring of retention and of the daily accounts in a worker: what each room purges, and how. Like compose.ts it must hold no rule of its own.
import type { Logger } from 'pino';
import { createChallengeStore } from '../../authentication/challenges/challenge.store.ts';
import { createDpopStore } from '../../authentication/dpop/dpop.store.ts';
import { createClientAssertionStore } from '../../authentication/tokens/client-assertion.store.ts';
import { createRefreshTokenStore } from '../../authentication/tokens/refresh-token.store.ts';
import { createRevocationStore } from '../../authentication/tokens/revocation.store.ts';
import { createEnrollmentStore } from '../../identity/enrollments/enrollment.store.ts';
import { createRetentionService } from '../../operations/retention/retention.service.ts';
import { ACCOUNT_DAYS, KEPT_DAYS } from '../../operations/retention/retention.ts';
import { createIdempotencyStore } from '../../platform/http/idempotency.store.ts';
import { createLimitCountStore } from '../../platform/http/limit-counts.store.ts';
import { createAccountService } from '../../webhooks/accounts/account.service.ts';
import { createAccountStore } from '../../webhooks/accounts/account.store.ts';
import { createDeliveryExpiryService } from '../../webhooks/deliveries/delivery-expiry.service.ts';
import { createDeliveryExpiryStore } from '../../webhooks/deliveries/delivery-expiry.store.ts';
import { createBulkRecoveryStore } from '../../webhooks/replays/bulk-replay.store.ts';
import type { Core } from './compose.ts';

export function composeRetention(
  { database, audit, eventStore, notifier }: Pick<Core, 'database' | 'audit' | 'eventStore' | 'notifier'>,
  { logger }: { logger: Logger },
) {
  const accountStore = createAccountStore();
  const expiryStore = createDeliveryExpiryStore();
  const accounts = createAccountService({
    database,
    store: accountStore,
    onDifference: (account) => logger.error(account, 'deliveries are not accounted for'),
  });
  const retention = createRetentionService({
    database,
    accounts,
    expiry: createDeliveryExpiryService({ database, store: expiryStore, audit, onWork: notifier.poke }),
    purges: {
      challenges: createChallengeStore().purge,
      'idempotency keys': createIdempotencyStore().purge,
      'published event ids': (queryable, limit) => eventStore.purgePublished(queryable, KEPT_DAYS, limit),
      'refresh tokens': createRefreshTokenStore().purge,
      'enrollment tokens': createEnrollmentStore().purge,
      'client assertions': createClientAssertionStore().purge,
      'DPoP proofs': createDpopStore().purge,
      revocations: createRevocationStore().purge,
      'rate limits': createLimitCountStore().purge,
      'work of old deliveries': (queryable, limit) => expiryStore.purgeWork(queryable, KEPT_DAYS, limit),
      'rows without a partition': (queryable, limit) => expiryStore.purgeSpare(queryable, KEPT_DAYS, limit),
      'bulk recoveries': createBulkRecoveryStore().purge,
      accounts: (queryable, limit) => accountStore.purge(queryable, ACCOUNT_DAYS, limit),
    },
  });
  return {
    retention,
    readStanding: () => accountStore.standing(database, KEPT_DAYS + 1),
  };
}
