// The purges of all rooms with the names that operators see, and how long each kind of row is kept.
import * as addresses from '../../audit/address-removal.store.ts';
import { purge as purgeChallenges } from '../../authentication/challenges/challenge.store.ts';
import * as consoleStore from '../../authentication/console/session.store.ts';
import { purge as purgeProofs } from '../../authentication/dpop/dpop.store.ts';
import { purge as purgeClientAssertions } from '../../authentication/tokens/client-assertion.store.ts';
import { purge as purgeRefreshTokens } from '../../authentication/tokens/refresh-token.store.ts';
import { purge as purgeRevocations } from '../../authentication/tokens/revocation.store.ts';
import { usedAssertions } from '../../authentication/workload-issuers/workload-issuer.store.ts';
import { purge as purgeEnrollmentTokens } from '../../identity/enrollments/enrollment.store.ts';
import * as tenants from '../../identity/tenants/tenant-retention.store.ts';
import { boundsOf } from '../../identity/tenants/tenant-retention.ts';
import { purge as purgeObjectives } from '../../operations/objectives/objective.store.ts';
import {
  type Purge,
  type RetentionNeeds,
  RetentionService,
} from '../../operations/retention/retention.service.ts';
import { ACCOUNT_DAYS } from '../../operations/retention/retention.ts';
import { createTenantRetention } from '../../operations/retention/tenant-retention.service.ts';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import { purge as purgeIdempotencyKeys } from '../../platform/http/idempotency.store.ts';
import { purge as purgeRateLimits } from '../../platform/http/limit-counts.store.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { AccountService } from '../../webhooks/accounts/account.service.ts';
import * as accountStore from '../../webhooks/accounts/account.store.ts';
import { purge as purgeHours } from '../../webhooks/accounts/hour.store.ts';
import { DeliveryExpiryService } from '../../webhooks/deliveries/delivery-expiry.service.ts';
import * as deliveryStore from '../../webhooks/deliveries/delivery-expiry.store.ts';
import { purgePublished } from '../../webhooks/intake/event.store.ts';
import * as events from '../../webhooks/intake/event-removal.store.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import * as receiptStore from '../../webhooks/receipts/receipt.store.ts';
import { purge as purgeReplays } from '../../webhooks/replays/bulk-replay.store.ts';
import { purgeWork } from '../../webhooks/rows/outbox.store.ts';
import * as deliveries from '../../webhooks/rows/removal.store.ts';

const PURGES: Readonly<Record<string, Purge>> = {
  'idempotency keys': purgeIdempotencyKeys,
  'rate limits': purgeRateLimits,
  'published event ids': (database, limit) => purgePublished(database, limit, KEPT_DAYS),
  'enrollment tokens': purgeEnrollmentTokens,
  'work of old deliveries': (database, limit) => purgeWork(database, KEPT_DAYS, limit),
  'rows without a partition': (database, limit) => deliveryStore.purgeSpare(database, KEPT_DAYS, limit),
  'bulk replays': purgeReplays,
  'hours of deliveries': purgeHours,
  accounts: (database, limit) => accountStore.purge(database, ACCOUNT_DAYS, limit),
  'objective counts': purgeObjectives,
  challenges: purgeChallenges,
  'refresh tokens': purgeRefreshTokens,
  'client assertions': purgeClientAssertions,
  revocations: purgeRevocations,
  'console sessions': consoleStore.purgeSessions,
  'console codes': consoleStore.purgeCodes,
  'DPoP proofs': purgeProofs,
  'workload assertions': usedAssertions.purge,
};

/** Wires retention, with the daily accounts, of a worker. */
export function wireRetention(
  { config, database, log, notifier }: Platform,
  {
    records,
    settings,
  }: { records: Pick<RecordService, 'prepare' | 'writeBatch'>; settings?: RetentionNeeds['settings'] },
) {
  return new RetentionService({
    database,
    settings,
    accounts: new AccountService({
      database,
      onDifference: (account) =>
        log.error({ event: 'accounts.difference', ...account }, 'deliveries are not accounted for'),
    }),
    expiry: new DeliveryExpiryService({ database, records, onWork: notifier.poke }),
    purges: {
      ...PURGES,
      receipts: (queryable, limit) => receiptStore.purge(queryable, limit, config.retentionDays),
    },
    days: config.retentionDays,
    keepsDay: deliveries.keepsDay,
    noteEventsGone: tenants.noteEventsGone,
    ofTenants: createTenantRetention({
      ...{ database, tenants, deliveries, events, addresses, accounts: accountStore },
      bounds: boundsOf(config),
      purgeAttempts: deliveryStore.purgeAttempts,
      removeReceipts: receiptStore.removeCompleted,
    }),
  });
}
