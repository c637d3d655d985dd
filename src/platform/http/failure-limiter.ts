// Counts failed attempts across all processes, in Postgres. Successful attempts are not counted.
// docs/decisions/0009-limits.md
import { createBoundedCache } from '../bounded-cache.ts';
import type { Queryable } from '../database/transaction.ts';
import type { LimitReached } from '../errors/service-error.ts';
import type { Log } from '../logging.ts';
import type { SharedCount } from './limit-counts.store.ts';
import * as limitCountsStore from './limit-counts.store.ts';
import type { LimitCounts } from './limit-counts.ts';
import { describeLimit } from './rate-limit-headers.ts';

/** The number of failures of a key. `blocked` describes the limit once it is exceeded. */
type FailureCount = {
  readonly failures: number;
  readonly blocked: (LimitReached & { readonly retryAfterSeconds: number }) | undefined;
};

/** Seconds in which failures are counted. */
const WINDOW = 60;

const COMPLAIN_MILLISECONDS = 60_000;

/**
 * @param options.counts counts in this process alone while the database is away
 * @param options.points failures allowed within `seconds`; 0 turns the limiter off
 * @param options.prefix identifies this limiter in the table rate_limits and in its header fields
 * @param options.onRefused called for each failure beyond the limit
 * @param options.log receives a line (at most once a minute) when the database cannot count; this process then counts
 *   alone
 */
export function createFailureLimiter({
  database,
  counts,
  points,
  seconds = WINDOW,
  prefix,
  log,
  onRefused,
}: {
  database: Queryable;
  counts: Pick<LimitCounts, 'open'>;
  points: number;
  seconds?: number | undefined;
  prefix: string;
  log: Log<'warn'>;
  onRefused?: ((limit: string) => void) | undefined;
}) {
  const window = seconds * 1_000;
  // A count that is never shared, because no process admits a twentieth of this limit.
  const alone = counts.open({ name: prefix, points: Number.MAX_SAFE_INTEGER, window });
  /** Until when a key is blocked. */
  const known = createBoundedCache<number>({ limit: 100_000 });
  let complained = 0;

  const count = async (key: string): Promise<SharedCount> => {
    try {
      const failure = { key: `${prefix}:${key}`, count: 1, milliseconds: window };
      const [total] = await limitCountsStore.add(database, [failure]);
      if (total !== undefined) return total;
      throw new Error('counting returned nothing');
    } catch (error) {
      if (Date.now() - complained > COMPLAIN_MILLISECONDS) {
        complained = Date.now();
        log.warn(
          { event: 'limits.failures_not_shared', err: error, limiter: prefix },
          'failures are counted in this process only',
        );
      }
      const { used, milliseconds } = alone.spend(key, 1);
      return { count: used, milliseconds };
    }
  };

  const blockedFor = (milliseconds: number): FailureCount['blocked'] => {
    const remaining = Math.max(1, Math.ceil(milliseconds / 1_000));
    const limit = { name: `${prefix}-failures`, points, window: seconds };
    onRefused?.(limit.name);
    return { retryAfterSeconds: remaining, headers: describeLimit(limit, { left: 0, seconds: remaining }) };
  };

  return {
    /**
     * Counts one failure in one round trip, or in none while the key is known to be blocked.
     * @returns the failures so far in this window, and `blocked` once the limit is exceeded
     */
    async failed(key: string): Promise<FailureCount> {
      if (points === 0) return { failures: 0, blocked: undefined };
      const remaining = (known.peek(key) ?? 0) - Date.now();
      if (remaining > 0) return { failures: points + 1, blocked: blockedFor(remaining) };
      const { count: failures, milliseconds } = await count(key);
      if (failures >= points) known.set(key, Date.now() + milliseconds);
      return { failures, blocked: failures > points ? blockedFor(milliseconds) : undefined };
    },
  };
}
