// Consumes challenges for verifications whose signature was right. Those at the same time share a statement; a row that somebody
// holds must never make the others wait.

import type { EventService } from '../../events/event.service.ts';
import type { RotationService } from '../../identity/keys/rotation.service.ts';
import { createCoalescer } from '../../platform/database/coalescer.ts';
import type { Redemption, RedemptionStore } from './redemption.store.ts';

/** Redemptions that wait for a row at the same time, each on a connection of its own. */
const WAITING = 2;

/** Source: Specification, "Challenge-response procedure": a challenge is used once. */
export function createRedemptionService({
  store,
  events,
  rotations,
}: {
  store: RedemptionStore;
  events: Pick<EventService, 'announce'>;
  rotations: Pick<RotationService, 'noticeSwitches'>;
}) {
  const underWay = new Map<string, Promise<boolean>>();
  const together = createCoalescer<Redemption, boolean>({
    run: (batch) => settle(batch, { waits: false }),
    sizeOf: ({ audit, events: emitted }) => ({
      rows: 2 + audit.length + emitted.length,
      bytes: emitted.reduce((sum, { body }) => sum + body.length, 0),
    }),
  });
  const alone = createCoalescer<Redemption, boolean>({
    run: (batch) => settle(batch, { waits: true }),
    limits: { rows: 1, batches: WAITING },
  });

  async function settle(batch: readonly Redemption[], options: { waits: boolean }): Promise<boolean[]> {
    const { consumed, deliveries, switched } = await store.redeem(batch, options);
    events.announce(deliveries);
    rotations.noticeSwitches(switched);
    return batch.map(({ challengeId }) => consumed.has(challengeId));
  }

  /** The last question is for a commit whose answer was lost: sent again, it finds its own challenge used. */
  const attempt = async (redemption: Redemption): Promise<boolean> =>
    (await together.add(redemption)) || (await alone.add(redemption)) || store.isRedeemed(redemption);

  return {
    /**
     * Consumes a challenge and writes what follows, all or nothing. One round trip, which redemptions at the same time share.
     * @returns false when nothing was consumed: the challenge was used (also by a redemption of this process that is under way),
     *   or something about its key or agent has changed
     */
    redeem: async (redemption: Redemption): Promise<boolean> => {
      const { challengeId } = redemption;
      const rival = underWay.get(challengeId);
      if (rival !== undefined) return rival.then(() => false);
      const attempted = attempt(redemption);
      const settled = attempted.catch(() => false).finally(() => underWay.delete(challengeId));
      underWay.set(challengeId, settled);
      return attempted;
    },
  };
}
