// The purges of all rooms with the names that operators see, and how long each kind of row is kept.
import { purgesOfChallenges } from '../../authentication/challenges/wire.ts';
import { purgesOfConsole } from '../../authentication/console/wire.ts';
import { purgesOfProofs } from '../../authentication/dpop/wire.ts';
import { purgesOfTokens } from '../../authentication/tokens/wire.ts';
import { purgesOfWorkloads } from '../../authentication/workload-issuers/wire.ts';
import { purgesOfEnrollments } from '../../identity/enrollments/wire.ts';
import { ACCOUNT_DAYS, KEPT_DAYS } from '../../operations/retention/retention.ts';
import { wireRetention } from '../../operations/retention/wire.ts';
import { purgesOfRequests } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/platform.ts';
import { purgesOfAccounts, wireAccounts } from '../../webhooks/accounts/wire.ts';
import { purgesOfDeliveries, wireDeliveryExpiry } from '../../webhooks/deliveries/wire.ts';
import { purgesOfEvents } from '../../webhooks/intake/wire.ts';
import { purgesOfReceipts } from '../../webhooks/receipts/wire.ts';
import { purgesOfReplays } from '../../webhooks/replays/wire.ts';

/** Wires retention and the daily accounts of a worker. */
export function wireRetentionOfRooms(platform: Platform, records: Parameters<typeof wireDeliveryExpiry>[1]) {
  const kept = { keptDays: KEPT_DAYS, accountDays: ACCOUNT_DAYS };
  const { accounts, readStanding } = wireAccounts(platform);
  const retention = wireRetention(platform, {
    accounts,
    expiry: wireDeliveryExpiry(platform, records),
    purges: {
      ...purgesOfRequests,
      ...purgesOfEvents(kept),
      ...purgesOfEnrollments,
      ...purgesOfDeliveries(kept),
      ...purgesOfReplays,
      ...purgesOfReceipts(kept),
      ...purgesOfAccounts(kept),
      ...purgesOfChallenges,
      ...purgesOfTokens,
      ...purgesOfConsole,
      ...purgesOfProofs,
      ...purgesOfWorkloads,
    },
  });
  return { retention, readStanding: () => readStanding(kept) };
}
