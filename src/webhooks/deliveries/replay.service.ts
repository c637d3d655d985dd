// Replays of many deliveries, for bulk replays. Attempts are left to the relay and the workflows.

import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { ReplayRange } from './replay.store.ts';
import * as store from './replay.store.ts';

export { REPLAYABLE, type ReplayableStatus, type ReplayRange } from './replay.store.ts';

/** @param notifier notifies the relays of new work */
export function createReplayService({ notifier }: { notifier: { poke(): void } }) {
  return {
    /** How many deliveries are in the range now. */
    count: (queryable: Queryable, range: ReplayRange): Promise<number> => store.count(queryable, range),

    /** Replays of a subscription that still wait for their first attempt to begin, counted up to `atMost`. */
    waiting: (
      queryable: Queryable,
      subscription: Pick<ReplayRange, 'tenantId' | 'subscriptionId'>,
      atMost: number,
    ): Promise<number> => store.waiting(queryable, subscription, atMost),

    /**
     * Replays the next deliveries of the range: attempt numbers go on, the schedule starts again. Deliveries that were
     * replayed since `endedBy` are not in the range any more.
     * @param options.after id of the last one that is done
     */
    replay: async (
      unit: Transaction,
      range: ReplayRange,
      options: { after: string; limit: number },
    ): Promise<{ replayed: number; last: string | null }> => {
      const done = await store.replay(unit, range, options);
      if (done.replayed > 0) unit.afterCommit(() => notifier.poke());
      return done;
    },
  };
}

export type ReplayService = ReturnType<typeof createReplayService>;
