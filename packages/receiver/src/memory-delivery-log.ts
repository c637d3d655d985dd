// A delivery log in memory, for tests and for receivers of one process that may lose the log when they end. Its size is
// limited. It keeps each delivery for as long as the delivery can be replayed.

import type { Acceptance, AcceptedDelivery, DeliveryLog, DeliveryRecord } from './delivery-log.ts';
import { RetryLater } from './receiver-errors.ts';

type Entry = { record: DeliveryRecord; replayableUntil: number };

/** Longer than the service's default schedule of about three days. */
const FOUR_DAYS = 4 * 24 * 60 * 60;

/**
 * Creates a delivery log that is lost when its process ends. A full log removes the oldest record that cannot be
 * replayed any more. When there is none, it throws RetryLater, so that deliveries are answered with 503 and
 * `Retry-After`.
 * @param options.limit the most records
 * @param options.keepSeconds how long a record is kept at least, unless the log is full
 * @param options.leaseSeconds how long a handler may take; after that a further attempt calls the handler again
 */
export function createMemoryDeliveryLog({
  limit = 100_000,
  keepSeconds = FOUR_DAYS,
  leaseSeconds = 300,
}: {
  limit?: number | undefined;
  keepSeconds?: number | undefined;
  leaseSeconds?: number | undefined;
} = {}): DeliveryLog & { records(): DeliveryRecord[] } {
  // In the order of receipt, because a Map iterates in the order of insertion.
  const entries = new Map<string, Entry>();
  const leaseEnd = ({ record }: Entry) => record.received_at.getTime() + leaseSeconds * 1000;
  const keepEnd = ({ record }: Entry) => record.received_at.getTime() + keepSeconds * 1000;

  /** The time until which removing the record could cause a second run of its handler; 0 for a failed delivery. */
  function neededUntil(entry: Entry): number {
    if (entry.record.status === 'failed') return 0;
    const isRunning = entry.record.status === 'accepted';
    return Math.max(entry.replayableUntil, isRunning ? leaseEnd(entry) : 0);
  }

  function makeRoom(now: number): void {
    for (const [id, entry] of entries) {
      if (Math.max(keepEnd(entry), neededUntil(entry)) > now) break;
      entries.delete(id);
    }
    if (entries.size < limit) return;
    let soonest = Number.POSITIVE_INFINITY;
    for (const [id, entry] of entries) {
      if (neededUntil(entry) <= now) {
        entries.delete(id);
        return;
      }
      soonest = Math.min(soonest, neededUntil(entry));
    }
    throw new RetryLater(Math.ceil((soonest - now) / 1000));
  }

  function judge(entry: Entry, now: number): Acceptance {
    if (entry.record.status === 'failed') return 'accepted';
    if (entry.record.status === 'accepted') return leaseEnd(entry) > now ? 'in_progress' : 'accepted';
    return Math.max(keepEnd(entry), entry.replayableUntil) > now ? 'duplicate' : 'accepted';
  }

  return {
    async accept(record: DeliveryRecord, delivery: AcceptedDelivery): Promise<Acceptance> {
      const now = record.received_at.getTime();
      const known = entries.get(record.delivery_id);
      const replayableUntil = Math.max(known?.replayableUntil ?? 0, delivery.replayableUntil.getTime());
      if (known !== undefined) {
        const acceptance = judge(known, now);
        known.replayableUntil = replayableUntil;
        if (acceptance !== 'accepted') return acceptance;
        entries.delete(record.delivery_id);
      }
      makeRoom(now);
      entries.set(record.delivery_id, { record: { ...record }, replayableUntil });
      return 'accepted';
    },

    async settle(record: DeliveryRecord): Promise<void> {
      const entry = entries.get(record.delivery_id);
      if (entry?.record.received_at.getTime() === record.received_at.getTime()) entry.record = { ...record };
    },

    /** Returns copies of all records, in the order of receipt. */
    records: () => [...entries.values()].map(({ record }) => ({ ...record })),
  };
}
