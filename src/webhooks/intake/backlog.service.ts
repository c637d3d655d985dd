// Refuses publications of a tenant that has too many unfinished deliveries. A publication never waits for a count,
// because the latest count decides.
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';

type Reading = {
  counted: number;
  /** Deliveries that this process has accepted since the last count. */
  since: number;
  at: number;
  took: number;
  counting: boolean;
};

/** Milliseconds since a count, and the share of the free room that must be used meanwhile before the next one. */
const RECOUNTS = [
  { age: 1_000, share: 1 / 10 },
  { age: 10_000, share: 1 / 100 },
  { age: 300_000, share: 0 },
] as const;
const LEAST_AGE_MS = RECOUNTS[0].age;
const MAX_TENANTS = 10_000;
/** The wait after a count, as a multiple of its duration, so that counting uses little of a connection's time. */
const REST = 20;

/**
 * Estimates each tenant's backlog: the unfinished deliveries at the last count, plus the deliveries that this process
 * has accepted since. A count reads each subscription and day, so it is repeated by need: when this process has used a
 * tenth of the free room and a second has passed, a hundredth and 10 s, or else after 5 minutes.
 * @param options.count counts a tenant's unfinished deliveries, up to `atMost`
 * @param options.limit the most unfinished deliveries of a tenant
 * @param options.clock milliseconds of a clock that never goes back
 */
export function createBacklogGauge({
  count,
  limit,
  clock = () => performance.now(),
}: {
  count: (tenantId: string, atMost: number) => Promise<number>;
  limit: number;
  clock?: (() => number) | undefined;
}) {
  const readings = createBoundedCache<Reading>({ limit: MAX_TENANTS });

  const readingOf = (tenantId: string): Reading =>
    readings.get(tenantId, () => ({
      counted: 0,
      since: 0,
      at: Number.NEGATIVE_INFINITY,
      took: 0,
      counting: false,
    }));

  const isStale = (reading: Reading): boolean => {
    const age = clock() - reading.at;
    if (age < reading.took * REST) return false;
    const free = limit - reading.counted;
    return RECOUNTS.some((recount) => age >= recount.age && reading.since >= free * recount.share);
  };

  const recount = async (tenantId: string, reading: Reading): Promise<void> => {
    reading.counting = true;
    const began = clock();
    const before = reading.since;
    try {
      reading.counted = await count(tenantId, limit + 1);
      reading.since -= before;
    } catch {
      // The last count stays valid. When the database fails, the publication itself fails.
    } finally {
      reading.at = clock();
      reading.took = reading.at - began;
      reading.counting = false;
    }
  };

  return {
    /** @throws ServiceError `rate_limited` with `Retry-After` when the tenant's backlog is full */
    check: (tenantId: string): void => {
      const reading = readingOf(tenantId);
      if (!reading.counting && isStale(reading)) void recount(tenantId, reading);
      if (reading.counted + reading.since < limit) return;
      throw new ServiceError('rate_limited', {
        detail: `The tenant has ${limit} deliveries or more that are not finished. Publish again when some are.`,
        retryAfterSeconds: Math.ceil(Math.max(LEAST_AGE_MS, reading.took * REST) / 1_000),
      });
    },
    add: (tenantId: string, deliveries: number): void => {
      readingOf(tenantId).since += deliveries;
    },
  };
}

export type BacklogGauge = ReturnType<typeof createBacklogGauge>;
