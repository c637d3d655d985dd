// Wires events: their emission by the service, their publication by tenants, and what reads them.
import type { Limits } from '../../platform/http/wire.ts';
import type { Platform } from '../../platform/platform.ts';
import { createBacklogGauge } from './backlog.service.ts';
import * as eventStore from './event.store.ts';
import { createEventContractService } from './event-contract.service.ts';
import { createFeedService, type FeedNeeds } from './feed.service.ts';
import { countPublications } from './publishing.metrics.ts';
import { createPublishingService, type DirectAttempts } from './publishing.service.ts';
import { createRecordService, type RecordNeeds } from './record.service.ts';

/** Wires the records of happenings. In tests each event is compared with the catalogue. */
export function wireRecords(
  { config, notifier, tracing }: Platform,
  { receipts }: Pick<RecordNeeds, 'receipts'> = {},
) {
  return createRecordService({ receipts, notifier, checked: config.nodeEnv === 'test', tracing });
}

export function wirePublishing(
  { config, database, notifier, registry, tracing }: Platform,
  {
    limits,
    directAttempts,
    deliveries,
  }: Pick<FeedNeeds, 'deliveries'> & {
    limits: Pick<Limits, 'limitRate'>;
    directAttempts?: DirectAttempts | undefined;
  },
) {
  const publishing = createPublishingService({
    database,
    notifier,
    backlog: createBacklogGauge({
      count: (tenantId, atMost) => eventStore.countUnfinished(database, tenantId, atMost),
      limit: config.backlogLimit,
    }),
    directAttempts,
    limit: limits.limitRate('publish', config.rateLimit.publish),
    tracing,
  });
  return {
    publishing: countPublications(publishing, { registry }),
    feed: createFeedService({ deliveries, database }),
    contract: createEventContractService({ database }),
  };
}
