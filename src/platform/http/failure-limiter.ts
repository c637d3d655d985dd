// Counts failed attempts across all processes, in Postgres. It only counts failures: who succeeds is never asked, delayed or refused here.
import type { Pool } from 'pg';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import type { LimitReached } from '../errors/service-error.ts';
import type { Log } from '../logging.ts';
import { describeLimit } from './rate-limit-headers.ts';

/** The count of a key after a failure; `blocked` when it has had more than are allowed: what to tell of it. */
type FailureCount = {
  readonly failures: number;
  readonly blocked: (LimitReached & { readonly retryAfterSeconds: number }) | undefined;
};

/** The window in which failures are counted, in seconds. */
const WINDOW = 60;

const COMPLAIN_MILLISECONDS = 60_000;

/**
 * @param options.points failures allowed within `seconds`; 0 turns the limiter off
 * @param options.prefix keeps limiters apart in the table rate_limits, and in the fields that tell of them
 * @param options.onRefused told of each failure beyond those that are allowed
 * @param options.log gets a line (at most once a minute) that the database cannot count; this process then counts alone
 */
export function createFailureLimiter({
  pool,
  points,
  seconds = WINDOW,
  prefix,
  log,
  onRefused,
}: {
  pool: Pool;
  points: number;
  seconds?: number | undefined;
  prefix: string;
  log: Log<'warn'>;
  onRefused?: ((limit: string) => void) | undefined;
}) {
  const shared = new RateLimiterPostgres({
    storeClient: pool,
    storeType: 'pool',
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix: prefix,
    points,
    duration: seconds,
  });
  const alone = new RateLimiterMemory({ keyPrefix: prefix, points, duration: seconds });
  const known = createDeadlines();
  let complained = 0;

  const count = async (key: string): Promise<RateLimiterRes> => {
    try {
      return await consume(shared, key);
    } catch (error) {
      if (Date.now() - complained > COMPLAIN_MILLISECONDS) {
        complained = Date.now();
        log.warn(
          { event: 'limits.failures_not_shared', err: error, limiter: prefix },
          'failures are counted in this process only',
        );
      }
      return consume(alone, key);
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
     * Counts one failure; one round trip, none while the key is known to be blocked.
     * @returns the failures so far in this window, and `blocked` from the one after the last that was allowed
     */
    async failed(key: string): Promise<FailureCount> {
      if (points === 0) return { failures: 0, blocked: undefined };
      const remaining = known.remaining(key);
      if (remaining > 0) return { failures: points + 1, blocked: blockedFor(remaining) };
      const { consumedPoints, msBeforeNext } = await count(key);
      if (consumedPoints >= points) known.set(key, msBeforeNext);
      return {
        failures: consumedPoints,
        blocked: consumedPoints > points ? blockedFor(msBeforeNext) : undefined,
      };
    },
  };
}

export type FailureLimiter = ReturnType<typeof createFailureLimiter>;

async function consume(
  limiter: RateLimiterPostgres | RateLimiterMemory,
  key: string,
): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(key);
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return refusal;
    throw refusal;
  }
}

/** Keys with the time at which each is free again; bounded, the oldest give way. */
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
