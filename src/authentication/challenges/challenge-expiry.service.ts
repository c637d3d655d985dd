// Marks overdue challenges as expired, and writes their number to the audit log. No request depends on it: a request
// checks the expiry time of its challenge.

import { type AuditActor, serviceContext } from '../../audit/audit.ts';
import type { RecordService } from '../../events/record.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import * as store from './challenge-expiry.store.ts';
import type { Bucket, OperatorRequest, SettleResult, SweepResult } from './challenge-expiry.ts';

/** The heartbeat of a sweep, and the signal that stops it. */
export type Pulse = { readonly beat: () => void; readonly signal: AbortSignal };

/**
 * `chunk`: challenges in one transaction; `tenants`: audit entries in one transaction; `budget`: the longest sweep in
 * milliseconds.
 */
const SETTINGS = { chunk: 5_000, tenants: 5_000, budget: 10_000 } as const;

/** Seconds after which a challenge should be marked, even if one bucket was missed. */
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
   * Writes audit entries for the counts of the next tenants, all or none.
   * @returns undefined when none is left for this bucket
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
     * Marks all overdue challenges, of this bucket and of missed buckets, in chunks: each chunk and its count are one
     * transaction. A repeated call continues after the last chunk.
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
     * Writes a bucket's audit entries, one for each tenant, with the number of marked challenges that have no earlier
     * entry. Each transaction takes some tenants; a repeated call continues after the last one. The entries of a bucket
     * are written once; challenges that are marked later belong to the next bucket.
     * @param asked the operator's request for a sweep before the end of the bucket
     * @returns the numbers of this call
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

    /** The database's clock, which determines the names of buckets. */
    readClock: (): Promise<Date> => store.readClock(database),

    /**
     * Whether the sweep is late: the expiry time of the oldest challenge that should have been marked minutes ago, null
     * without one. One indexed read.
     */
    findOverdue: (): Promise<Date | null> => store.findOldestUnswept(database, LATE),
  };
}

export type ExpiryService = ReturnType<typeof createExpiryService>;
