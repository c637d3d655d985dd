// The list of migrations: the baseline creates the schema of 0.1.0, later migrations add to it. Entries stay unchanged.
import type { MigrationStep } from './migration-steps.ts';
import { general } from './migrations/0001-general.ts';
import { identity } from './migrations/0002-identity.ts';
import { issuers } from './migrations/0003-issuers.ts';
import { authentication } from './migrations/0004-authentication.ts';
import { audit } from './migrations/0005-audit.ts';
import { events } from './migrations/0006-events.ts';
import { subscriptions } from './migrations/0007-subscriptions.ts';
import { endpoints } from './migrations/0008-endpoints.ts';
import { deliveries } from './migrations/0009-deliveries.ts';
import { partitions } from './migrations/0010-partitions.ts';
import { statistics } from './migrations/0011-statistics.ts';
import { feedSnapshots } from './migrations/0012-feed-snapshots.ts';
import { revocationPages } from './migrations/0013-revocation-pages.ts';
import { heldGrants } from './migrations/0014-held-grants.ts';
import { foreignTokens } from './migrations/0015-foreign-tokens.ts';
import { crowdedDeliveries } from './migrations/0016-crowded-deliveries.ts';
import { tenantEnds } from './migrations/0017-tenant-ends.ts';
import { objectives } from './migrations/0018-objectives.ts';
import { auditWithoutTokens } from './migrations/0019-audit-without-tokens.ts';
import { deliveryHours } from './migrations/0020-delivery-hours.ts';
import { users } from './migrations/0021-users.ts';
import { tenantRetention } from './migrations/0022-tenant-retention.ts';
import { auditParts } from './migrations/0023-audit-parts.ts';
import { tenantEndTimes } from './migrations/0024-tenant-end-times.ts';
import { delegationsBySubject } from './migrations/0025-delegations-by-subject.ts';
import { subscriptionLimit } from './migrations/0028-subscription-limit.ts';
import { bulkReplayParts } from './migrations/0029-bulk-replay-parts.ts';
import { renewedStatistics } from './migrations/0030-renewed-statistics.ts';
import { failedDeliveries } from './migrations/0031-failed-deliveries.ts';

/** `name` is that of the file. The database records it. */
export type Migration = { readonly name: string; readonly steps: readonly MigrationStep[] };

export const BASELINE: readonly Migration[] = [
  { name: '0001-general', steps: [general] },
  { name: '0002-identity', steps: [identity] },
  { name: '0003-issuers', steps: [issuers] },
  { name: '0004-authentication', steps: [authentication] },
  { name: '0005-audit', steps: [audit] },
  { name: '0006-events', steps: [events] },
  { name: '0007-subscriptions', steps: [subscriptions] },
  { name: '0008-endpoints', steps: [endpoints] },
  { name: '0009-deliveries', steps: [deliveries] },
  { name: '0010-partitions', steps: [partitions] },
  { name: '0011-statistics', steps: [statistics] },
];

export const MIGRATIONS: readonly Migration[] = [
  ...BASELINE,
  { name: '0012-feed-snapshots', steps: [feedSnapshots] },
  { name: '0013-revocation-pages', steps: revocationPages },
  { name: '0014-held-grants', steps: [heldGrants] },
  { name: '0015-foreign-tokens', steps: [foreignTokens] },
  { name: '0016-crowded-deliveries', steps: [crowdedDeliveries] },
  { name: '0017-tenant-ends', steps: [tenantEnds] },
  { name: '0018-objectives', steps: [objectives] },
  { name: '0019-audit-without-tokens', steps: auditWithoutTokens },
  { name: '0020-delivery-hours', steps: [deliveryHours] },
  { name: '0021-users', steps: users },
  { name: '0022-tenant-retention', steps: [tenantRetention] },
  { name: '0023-audit-parts', steps: [auditParts] },
  { name: '0024-tenant-end-times', steps: [tenantEndTimes] },
  { name: '0025-delegations-by-subject', steps: [delegationsBySubject] },
  { name: '0028-subscription-limit', steps: [subscriptionLimit] },
  { name: '0029-bulk-replay-parts', steps: [bulkReplayParts] },
  { name: '0030-renewed-statistics', steps: [renewedStatistics] },
  { name: '0031-failed-deliveries', steps: failedDeliveries },
];
