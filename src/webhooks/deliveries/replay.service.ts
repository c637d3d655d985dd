// Replays many deliveries for bulk replays. The relay and the workflows make the attempts.

import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { ReplayRange } from './replay.store.ts';
import * as store from './replay.store.ts';

export { REPLAYABLE, type ReplayableStatus, type ReplayRange } from './replay.store.ts';

export function createReplayService({ notifier }: { notifier: { poke(): void } }) {
  return {
    count: (queryable: Queryable, range: ReplayRange): Promise<number> => store.count(queryable, range),

    /** Counts the subscription's replays that no relay has claimed yet, up to `atMost`. */
    waiting: (
      queryable: Queryable,
      subscription: Pick<ReplayRange, 'tenantId' | 'subscriptionId'>,
      atMost: number,
    ): Promise<number> => store.waiting(queryable, subscription, atMost),

    /**
     * Replays the next deliveries of the range: attempt numbers go on, the schedule starts again. A delivery that was
     * replayed after `endedBy` is no longer in the range.
     * @param options.after id of the last delivery that was handled
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
