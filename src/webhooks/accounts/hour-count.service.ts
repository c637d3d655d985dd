// Counts what became of the deliveries of the last hours, each minute in one process, and lists it to their tenant.

import type { RequestContext } from '../../platform/context.ts';
import type { Database } from '../../platform/database/database.ts';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
import * as store from './hour.store.ts';
import { arrangeHours, ENDS, HOUR_MS, HOURS, hoursUntil, type SubscriptionHours } from './hour.ts';
import { addParts, countSpans } from './span.service.ts';

/** Milliseconds after which a process tries to claim the next count. */
const EVERY_MS = 20_000;
/** A count pauses for this many times what it took, so that it uses a twentieth of one connection's time. */
const PAUSE = 20;

type Needs = { database: Pick<Database, 'query'> };

/**
 * Counts the present hour and the one before, or all of a day where they are due.
 * @returns the number of counted hours; 0 when no count is due
 */
export async function countHours({ database }: Needs, signal: AbortSignal): Promise<number> {
  const claimed = await store.claim(database);
  if (claimed === undefined) return 0;
  const began = performance.now();
  const hours = Array.from(
    { length: claimed.all ? HOURS : 2 },
    (_, n) => claimed.hour.getTime() - n * HOUR_MS,
  );
  for (const from of hours) {
    const parts = await countSpans(
      { from, to: from + HOUR_MS },
      { signal, heartbeat: () => undefined },
      (...span) => store.count(database, ...span),
    );
    // A subscription has one tenant.
    const hour = addParts(parts, ({ subscriptionId }) => subscriptionId, ENDS);
    await store.save(database, new Date(from), hour);
  }
  await store.putOff(database, (performance.now() - began) * PAUSE);
  return hours.length;
}

/** @returns the loop of a worker; of several processes one counts at a time */
export function createHourCounter({ database, onFailure }: Needs & { onFailure: (error: unknown) => void }): {
  start(): RunningLoop;
} {
  return createLoop({
    run: (signal) => countHours({ database }, signal),
    first: EVERY_MS * Math.random(),
    next: EVERY_MS,
    onFailure,
  });
}

export class HourReadingService extends Service<Needs> {
  /** Lists the last 24 hours of these subscriptions of the tenant, or the sum of all where none is named. */
  list = async (
    context: Pick<RequestContext, 'tenant'>,
    subscriptionIds: readonly string[] | undefined,
  ): Promise<{ hours: Date[]; data: SubscriptionHours[]; countedAt: Date | null }> => {
    const { present, countedAt } = await store.readClock(this.needs.database);
    const found = await store.list(this.needs.database, context.tenant.id, subscriptionIds, present);
    const hours = hoursUntil(present);
    return { hours, data: arrangeHours(subscriptionIds ?? [null], hours, found), countedAt };
  };
}
