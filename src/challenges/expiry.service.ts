// Marks challenges that nobody used in time, and tells the audit log how many. Nothing waits for it: whether a challenge has expired is
// decided by its own time wherever it is used.
import type { AuditService } from '../audit/audit.service.ts';
import { type AuditActor, serviceContext } from '../audit/audit.ts';
import type { Database } from '../database/database.ts';
import { newId } from '../database/ids.ts';
import type { ExpiryStore } from './expiry.store.ts';
import type { Bucket, OperatorRequest, SettleResult, SweepResult } from './expiry.ts';

/** How a sweep tells that it lives, and is told to stop. */
export type Pulse = { readonly beat: () => void; readonly signal: AbortSignal };

/** Challenges of one transaction, and milliseconds that one call may take. */
const SETTINGS = { chunk: 5_000, budget: 10_000 } as const;

/** Seconds: somebody should have swept by then, also where one bucket was missed. */
const LATE = 300;

/** Source: Specification, "Challenge": a challenge that was not answered in time expires. */
export function createExpiryService({
  store,
  database,
  audit,
  settings = SETTINGS,
}: {
  store: ExpiryStore;
  database: Pick<Database, 'hot' | 'query'>;
  audit: Pick<AuditService, 'prepare' | 'appendPrepared'>;
  settings?: { readonly chunk: number; readonly budget: number } | undefined;
}) {
  const { chunk, budget } = settings;

  const markChunk = (): Promise<SweepResult> =>
    database.hot(async (unit) => {
      await store.lock(unit);
      return store.markNext(unit, chunk);
    });

  return {
    /**
     * Marks every challenge that is overdue, whichever bucket should have: chunk by chunk, each with its count in one transaction. A call
     * that is repeated goes on where the last chunk ended.
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
     * Writes a bucket's lines of the audit log, one a tenant: the challenges that were marked and are in no earlier line. A bucket gets
     * its lines once; what a repeated call finds is left to the next bucket.
     * @param asked by the operator who did not want to wait for the bucket's end
     */
    settle: ({ name, endsAt }: Bucket, asked?: OperatorRequest | undefined): Promise<SettleResult> =>
      database.hot(async (unit) => {
        await store.lock(unit);
        const counts = (await store.takeCounts(unit, endsAt)) ?? [];
        const requestId = newId();
        const actor: AuditActor = { kind: asked === undefined ? 'service' : 'operator' };
        const reason = asked?.reason ? { reason: asked.reason } : {};
        const lines = counts.flatMap(({ tenantId, expired }) =>
          audit.prepare(serviceContext({ id: tenantId }, requestId), [
            {
              action: 'auth.challenges_expired',
              outcome: 'success',
              actor,
              target: { type: 'challenge_expiry', id: name },
              data: { count: expired, ...reason },
            },
          ]),
        );
        await audit.appendPrepared(unit, lines);
        return {
          tenants: counts.length,
          challenges: counts.reduce((sum, { expired }) => sum + expired, 0),
        };
      }),

    /** The database's clock, by which buckets are named. */
    readClock: (): Promise<Date> => store.readClock(database),

    /**
     * Whether the sweep is behind: the end of the oldest challenge that should have been swept minutes ago, null when there is none. One
     * indexed read.
     */
    findOverdue: (): Promise<Date | null> => store.findOldestUnswept(database, LATE),
  };
}

export type ExpiryService = ReturnType<typeof createExpiryService>;
