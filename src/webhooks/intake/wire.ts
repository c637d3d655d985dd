// Wires events: their emission by the service, their publication by tenants, and what reads them.
import { Gauge } from 'prom-client';
import { MAX_NOTICE_BYTES } from '../../platform/database/notifier.client.ts';
import type { Limits } from '../../platform/http/wire.ts';
import { reasonOf } from '../../platform/logging.ts';
import type { Platform } from '../../platform/opening/platform.ts';
import { BacklogGauge } from './backlog.service.ts';
import * as eventStore from './event.store.ts';
import { EventContractService } from './event-contract.service.ts';
import { createEventNews } from './event-news.ts';
import { EventWaiters } from './event-waiters.service.ts';
import { type FeedNeeds, FeedService } from './feed.service.ts';
import { createFeedCursors } from './feed-cursor.node.ts';
import { HeldFeedService } from './held-feed.service.ts';
import { countPublications } from './publishing.metrics.ts';
import { type DirectAttempts, PublishingService } from './publishing.service.ts';
import { type RecordNeeds, RecordService, type TellEvents } from './record.service.ts';

/** Postgres channel on which processes tell each other of new events, and milliseconds between two notifications. */
const EVENT_CHANNEL = 'countersign_events';
const EVENT_PAUSE = 50;

/** Wires what a process tells the readers of all api processes of new events, and what it hears of others. */
export function wireEventNews({ openChannel }: Pick<Platform, 'openChannel'>) {
  const news = createEventNews();
  const { poke, listen } = openChannel(EVENT_CHANNEL, {
    pause: EVENT_PAUSE,
    texts: () => news.take(MAX_NOTICE_BYTES),
  });
  const tellEvents: TellEvents = (events) => {
    for (const { tenantId, type } of events) news.add(tenantId, type);
    poke();
  };
  return { tellEvents, listenToEvents: listen };
}

/** Wires the records of happenings. In tests each event is compared with the catalogue. */
export function wireRecords(
  { config, database, notifier, tracing }: Platform,
  rooms: Pick<RecordNeeds, 'receipts' | 'tellEvents'> = {},
) {
  const { clock } = database;
  return new RecordService({ ...rooms, notifier, clock, checked: config.nodeEnv === 'test', tracing });
}

/** Wires the readers of an api process that wait for events. */
export function wireEventWaiters(
  { database, log, registry }: Platform,
  { listenToEvents }: Pick<ReturnType<typeof wireEventNews>, 'listenToEvents'>,
) {
  const waiters = new EventWaiters({
    database,
    listen: listenToEvents,
    onFailure: (error) =>
      log.warn(
        { event: 'events.look_failed', reason: reasonOf(error) },
        'readers that wait do not know until when the feed is complete',
      ),
  });
  new Gauge({
    name: 'countersign_event_readers_waiting',
    help: 'Readers of events that this process holds until something comes.',
    registers: [registry],
    collect() {
      this.set(waiters.size());
    },
  });
  return waiters;
}

export function wirePublishing(
  { config, database, notifier, registry, tracing }: Platform,
  {
    limits,
    directAttempts,
    deliveries,
    tellEvents,
    waiters,
  }: Pick<FeedNeeds, 'deliveries'> &
    Pick<RecordNeeds, 'tellEvents'> & {
      limits: Pick<Limits, 'limitRate'>;
      directAttempts?: DirectAttempts | undefined;
      waiters: EventWaiters;
    },
) {
  const publishing = new PublishingService({
    database,
    notifier,
    tellEvents,
    backlog: new BacklogGauge({
      count: (tenantId, atMost) => eventStore.countUnfinished(database, tenantId, atMost),
      limit: config.backlogLimit,
    }),
    directAttempts,
    limit: limits.limitRate('publish', config.rateLimit.publish),
    tracing,
    now: () => new Date(database.clock.now()),
  });
  const feed = new FeedService({
    deliveries,
    database,
    cursors: createFeedCursors({ masterKeys: config.masterKeys }),
    keptDays: config.retentionDays,
  });
  return {
    publishing: countPublications(publishing, { registry }),
    feed,
    heldFeed: new HeldFeedService({ feed, waiters }),
    contract: new EventContractService({ database }),
  };
}
