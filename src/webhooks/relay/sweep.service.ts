// Finds deliveries that nothing is going to move any more, and moves them. It must change nothing that is in order, so that it can run
// each minute and by hand.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { ensurePartitions } from '../../platform/database/partitions.ts';
import type { DeliveryStarter } from './delivery-workflow.client.ts';
import * as relays from './relay.store.ts';
import type { OverdueDelivery } from './sweep.store.ts';
import * as store from './sweep.store.ts';

/** What one sweep mended. */
export type SweepReport = {
  /** Deliveries whose workflow was gone, and which get another. */
  readonly restarted: number;
  /** Overdue deliveries whose workflow still waited, and was told. */
  readonly told: number;
  /** Of deleted subscriptions. */
  readonly canceled: number;
  /** Waiting deliveries whose endpoint was open. */
  readonly mended: number;
  /** Partitions made ahead of time. */
  readonly partitions: number;
};

/** Rows that one statement changes or one page reads, and how many workflows are asked for at once. */
const CHUNK = 500;
const ASKED_AT_ONCE = 16;

/**
 * @param options.interval milliseconds between two sweeps
 * @param options.late milliseconds after which a started delivery counts as overdue
 * @param options.onSwept told what was mended, when anything was
 */
export function createSweepService({
  database,
  starter,
  onSwept,
  onFailure,
  interval = 60_000,
  late = 120_000,
}: {
  database: Pick<Database, 'query' | 'pool'>;

  starter: Pick<DeliveryStarter, 'stateOf' | 'signal'>;
  onSwept?: ((report: SweepReport) => void) | undefined;
  onFailure: (error: unknown) => void;
  interval?: number | undefined;
  late?: number | undefined;
}) {
  /** One that is gone is started again; one that waits although its time has come is told to look. */
  const moveOn = async ({ id, generation }: OverdueDelivery): Promise<'restarted' | 'told' | undefined> => {
    const delivery = { deliveryId: id, generation };
    const state = await starter.stateOf(delivery);
    if (state === 'busy') return undefined;
    if (state === 'waiting' && (await starter.signal(delivery, 'retryNow'))) return 'told';
    const again = await relays.restart(database, { ...delivery, outboxId: newId() });
    return again ? 'restarted' : undefined;
  };

  const moveOverdue = async (): Promise<{ restarted: number; told: number }> => {
    const moved = { restarted: 0, told: 0 };
    let after: OverdueDelivery | undefined;
    for (;;) {
      const page = await store.overdue(database, { lateMs: late, after, limit: CHUNK });
      for (let start = 0; start < page.length; start += ASKED_AT_ONCE) {
        const group = page.slice(start, start + ASKED_AT_ONCE);
        for (const how of await Promise.all(group.map(moveOn))) if (how !== undefined) moved[how] += 1;
      }
      after = page.at(-1);
      if (page.length < CHUNK) return moved;
    }
  };

  const inChunks = async (change: (limit: number) => Promise<number>): Promise<number> => {
    for (let total = 0; ; ) {
      const changed = await change(CHUNK);
      total += changed;
      if (changed < CHUNK) return total;
    }
  };

  const sweep = async (): Promise<SweepReport> => {
    // A lock that is not to be had must not keep deliveries waiting.
    const partitions = await ensurePartitions(database).catch((error: unknown) => {
      onFailure(error);
      return 0;
    });
    const canceled = await inChunks((limit) => store.cancelDeleted(database, limit));
    const mended = await inChunks((limit) => store.mendParked(database, limit));
    return { partitions, canceled, mended, ...(await moveOverdue()) };
  };

  return {
    /**
     * Sweeps once.
     * @returns undefined when another process is sweeping
     * @throws when the database or Temporal does not answer; what was mended until then stays mended
     */
    run: (): Promise<SweepReport | undefined> => store.exclusively(database, sweep),

    /** Sweeps at intervals until it is stopped. */
    start: (): { stop(): Promise<void> } => {
      const ending = new AbortController();
      const loop = async (): Promise<void> => {
        while (!ending.signal.aborted) {
          // Processes that started together do not stay together.
          const wait = interval * (0.9 + 0.2 * Math.random());
          await sleep(wait, undefined, { signal: ending.signal }).catch(() => undefined);
          if (ending.signal.aborted) return;
          try {
            const report = await store.exclusively(database, sweep);
            if (report !== undefined && Object.values(report).some((count) => count > 0)) onSwept?.(report);
          } catch (error) {
            onFailure(error);
          }
        }
      };
      const running = loop();
      return {
        stop: async () => {
          ending.abort();
          await running;
        },
      };
    },
  };
}

export type SweepService = ReturnType<typeof createSweepService>;
