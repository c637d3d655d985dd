// Marks challenges that were not used in time, and writes their number to the audit log. No request depends on it:
// wherever a challenge is used, its own time decides whether it has expired.

import { type AuditActor, serviceContext } from '../../audit/audit.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import * as store from './challenge-expiry.store.ts';
import type { Bucket, OperatorRequest, SettleResult, SweepResult } from './challenge-expiry.ts';

/** How a sweep reports its progress, and how it is stopped. */
export type Pulse = { readonly beat: () => void; readonly signal: AbortSignal };

/**
 * `chunk`: challenges of one transaction; `tenants`: audit entries of one transaction; `budget`: milliseconds that a
 * sweep may take.
 */
const SETTINGS = { chunk: 5_000, tenants: 5_000, budget: 10_000 } as const;

/** Seconds: a sweep should have come by then, also when one bucket was missed. */
const LATE = 300;

/** Source: Specification, "Challenge": a challenge that was not answered in time expires. */
export function createExpiryService({
  database,
  records,
  settings,
}: {
  database: Pick<Database, 'query' | 'transaction'>;
  records: Pick<RecordService, 'prepare' | 'writeBatch'>;
  settings?: Readonly<Partial<Record<keyof typeof SETTINGS, number>>> | undefined;
}) {
  const { chunk, tenants, budget } = { ...SETTINGS, ...settings };

  const markChunk = (): Promise<SweepResult> =>
    database.transaction({}, async (unit) => {
      await store.lock(unit);
      return store.markNext(unit, chunk);
    });

  /**
   * Moves the counts of the next tenants into audit entries, all or none.
   * @returns undefined when nothing is left for this bucket
   */
  const settleChunk = ({ name, endsAt }: Bucket, asked: OperatorRequest | undefined) =>
    database.transaction({}, async (unit) => {
      await store.lock(unit);
      const counts = await store.takeCounts(unit, endsAt, tenants);
      if (counts === null) return undefined;
      const requestId = newId();
      const actor: AuditActor = { kind: asked === undefined ? 'service' : 'operator' };
      const reason = asked?.reason ? { reason: asked.reason } : {};
      const target = { type: 'challenge_expiry', id: name };
      const describe = ({ tenantId, expired }: store.ExpiredCount) => {
        const data = { count: expired, ...reason };
        return records.prepare(serviceContext({ id: tenantId }, requestId), {
          audit: [{ action: 'auth.challenges_expired', outcome: 'success', actor, target, data }],
        });
      };
      await records.writeBatch(unit, counts.map(describe));
      return counts;
    });

  return {
    /**
     * Marks every overdue challenge, of this bucket and of buckets that were missed: chunk by chunk, each with its
     * count in one transaction. A repeated call goes on where the last chunk ended.
     */
    sweep: async ({ beat, signal }: Pulse): Promise<SweepResult> => {
      const began = performance.now();
      for (let expired = 0; ; ) {
        signal.throwIfAborted();
        const result = await markChunk();
        expired += result.expired;
        beat();
        if (!result.more || performance.now() - began > budget) return { expired, more: result.more };
      }
    },

    /**
     * Writes a bucket's audit entries, one for each tenant: the challenges that were marked and are in no earlier
     * entry. Each transaction takes some tenants; a repeated call goes on after the last one. A bucket gets its entries
     * once; challenges that are marked later are left to the next bucket.
     * @param asked by the operator who did not want to wait for the bucket's end
     * @returns what this call has written
     */
    settle: async (
      bucket: Bucket,
      asked?: OperatorRequest | undefined,
      pulse?: Pulse | undefined,
    ): Promise<SettleResult> => {
      const settled = { tenants: 0, challenges: 0 };
      for (;;) {
        pulse?.signal.throwIfAborted();
        const counts = (await settleChunk(bucket, asked)) ?? [];
        settled.tenants += counts.length;
        settled.challenges += counts.reduce((sum, { expired }) => sum + expired, 0);
        pulse?.beat();
        if (counts.length < tenants) return settled;
      }
    },

    /** The database's clock, by which buckets are named. */
    readClock: (): Promise<Date> => store.readClock(database),

    /**
     * Whether the sweep is behind: the end of the oldest challenge that should have been swept minutes ago, null when
     * there is none. One indexed read.
     */
    findOverdue: (): Promise<Date | null> => store.findOldestUnswept(database, LATE),
  };
}

export type ExpiryService = ReturnType<typeof createExpiryService>;
