// Counts published events and the deliveries that they cause.
import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../platform/errors/service-error.ts';
import type { PublishingService } from './publishing.service.ts';

/** Wraps a publishing service, so that its answers are counted. */
export function countPublications(
  publishing: PublishingService,
  { registry }: { registry: Registry },
): PublishingService {
  const events = new Counter({
    name: 'countersign_events_published_total',
    help: 'Published events by outcome: "accepted" (a repetition too), or the error code.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const deliveries = new Counter({
    name: 'countersign_event_deliveries_accepted_total',
    help: 'Deliveries of published events that were accepted; of a repeated event they are counted again.',
    registers: [registry],
  });
  const accepted = events.labels('accepted');
  return {
    ...publishing,
    publish: async (context, items) => {
      try {
        const results = await publishing.publish(context, items);
        for (const result of results) {
          if (result instanceof ServiceError) events.inc({ outcome: result.code });
          else {
            accepted.inc();
            if (result.deliveries > 0) deliveries.inc(result.deliveries);
          }
        }
        return results;
      } catch (error) {
        events.inc(
          { outcome: error instanceof ServiceError ? error.code : 'server_error' },
          Math.max(1, items.length),
        );
        throw error;
      }
    },
  };
}
