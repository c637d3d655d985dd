// Wires events: their emission by the service, their publication by tenants, and the routes that read them.
import type { Limits } from '../../platform/http/wire.ts';
import type { Needs, Platform } from '../../platform/platform.ts';
import { createBacklogGauge } from './backlog.service.ts';
import { createEventRoutes } from './event.routes.ts';
import * as eventStore from './event.store.ts';
import { createEventContractService } from './event-contract.service.ts';
import { createEventTypeRoutes } from './event-type.routes.ts';
import { createFeedService } from './feed.service.ts';
import { countPublications } from './publishing.metrics.ts';
import { createPublishingService, type DirectAttempts } from './publishing.service.ts';
import { createRecordService } from './record.service.ts';

/** Wires the records of happenings. In tests each event is compared with the catalogue. */
export function wireRecords(
  { config, notifier, tracing }: Platform,
  rooms: Pick<Parameters<typeof createRecordService>[0], 'receipts'> = {},
) {
  return createRecordService({ ...rooms, notifier, checked: config.nodeEnv === 'test', tracing });
}

export function wirePublishing(
  { config, database, notifier, registry, tracing }: Platform,
  {
    limits,
    directAttempts,
    ...rooms
  }: Needs<typeof createFeedService, 'database'> & {
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
    publishing,
    routes: [
      ...createEventRoutes({
        publishing: countPublications(publishing, { registry }),
        feed: createFeedService({ ...rooms, database }),
      }),
      ...createEventTypeRoutes({ contract: createEventContractService({ database }) }),
    ],
  };
}

export const purgesOfEvents = ({ keptDays }: { keptDays: number }) => ({
  'published event ids': (queryable: Parameters<typeof eventStore.purgePublished>[0], limit: number) =>
    eventStore.purgePublished(queryable, keptDays, limit),
});
