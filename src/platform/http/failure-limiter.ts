// Counts failed attempts across all processes, in Postgres. Successful attempts are not counted.
// docs/decisions/0009-limits.md
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
  const known = createDeadlines();
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
    /** At most one round trip. @returns the failures in this window, `blocked` once the limit is exceeded */
    async failed(key: string): Promise<FailureCount> {
      if (points === 0) return { failures: 0, blocked: undefined };
      const remaining = known.remaining(key);
      if (remaining > 0) return { failures: points + 1, blocked: blockedFor(remaining) };
      const { count: failures, milliseconds } = await count(key);
      if (failures >= points) known.set(key, milliseconds);
      return { failures, blocked: failures > points ? blockedFor(milliseconds) : undefined };
    },
  };
}

/** Keys with the end of their block. The number of keys is limited; the oldest are removed first. */
function createDeadlines() {
  const deadlines = new Map<string, number>();
  return {
    remaining(key: string): number {
      const deadline = deadlines.get(key);
      if (deadline === undefined) return 0;
      const remaining = deadline - Date.now();
      if (remaining <= 0) deadlines.delete(key);
      return remaining;
    },
    set(key: string, milliseconds: number): void {
      const [oldest] = deadlines.keys();
      if (deadlines.size >= 100_000 && oldest !== undefined) deadlines.delete(oldest);
      deadlines.set(key, Date.now() + milliseconds);
    },
  };
}
