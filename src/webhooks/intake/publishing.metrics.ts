// Counts published events and the deliveries that they cause.
import { Counter, type Registry } from 'prom-client';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { Published, Publishing } from './publishing.service.ts';

/** Wraps a publishing service, so that its answers are counted. */
export function countPublications(publishing: Publishing, { registry }: { registry: Registry }): Publishing {
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

  const count = (result: Published | ServiceError): void => {
    if (result instanceof ServiceError) {
      events.inc({ outcome: result.code });
      return;
    }
    accepted.inc();
    if (result.deliveries > 0) deliveries.inc(result.deliveries);
  };

  const countErrors = async <T>(published: number, run: () => Promise<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      const outcome = error instanceof ServiceError ? error.code : 'server_error';
      events.inc({ outcome }, Math.max(1, published));
      throw error;
    }
  };

  return {
    ...publishing,
    publish: (context, items, costs) =>
      countErrors(items.length, async () => {
        const results = await publishing.publish(context, items, costs);
        for (const result of results) count(result);
        return results;
      }),
    publishOnce: (context, event, answer, costs) =>
      countErrors(1, async () => {
        const result = await publishing.publishOnce(context, event, answer, costs);
        if (result !== undefined) count(result);
        return result;
      }),
  };
}
