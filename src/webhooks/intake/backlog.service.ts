// Refuses publications of a tenant that has too many unfinished deliveries. A publication never waits for a count,
// because the latest count decides.

import { createBoundedCache } from '../../platform/bounded-cache.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';

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
 */
export class BacklogGauge extends Service<{
  /** Counts a tenant's unfinished deliveries, up to `atMost`. */
  count: (tenantId: string, atMost: number) => Promise<number>;
  /** The most unfinished deliveries of a tenant. */
  limit: number;
  /** Milliseconds of a clock that never goes back. */
  clock?: (() => number) | undefined;
}> {
  readonly #clock = this.needs.clock ?? (() => performance.now());
  readonly #readings = createBoundedCache<Reading>({ limit: MAX_TENANTS });

  /** @throws ServiceError `rate_limited` with `Retry-After` when the tenant's backlog is full */
  check = (tenantId: string): void => {
    const reading = this.#readingOf(tenantId);
    if (!reading.counting && this.#isStale(reading)) void this.#recount(tenantId, reading);
    if (reading.counted + reading.since < this.needs.limit) return;
    throw new ServiceError('rate_limited', {
      detail: `The tenant has ${this.needs.limit} deliveries or more that are not finished. Publish again when some are.`,
      retryAfterSeconds: Math.ceil(Math.max(LEAST_AGE_MS, reading.took * REST) / 1_000),
    });
  };

  /** Adds deliveries of the tenant that were just accepted, until the next count. */
  add = (tenantId: string, deliveries: number): void => {
    this.#readingOf(tenantId).since += deliveries;
  };

  #readingOf = (tenantId: string): Reading =>
    this.#readings.get(tenantId, () => ({
      counted: 0,
      since: 0,
      at: Number.NEGATIVE_INFINITY,
      took: 0,
      counting: false,
    }));

  #isStale = (reading: Reading): boolean => {
    const age = this.#clock() - reading.at;
    if (age < reading.took * REST) return false;
    const free = this.needs.limit - reading.counted;
    return RECOUNTS.some((recount) => age >= recount.age && reading.since >= free * recount.share);
  };

  #recount = async (tenantId: string, reading: Reading): Promise<void> => {
    reading.counting = true;
    const began = this.#clock();
    const before = reading.since;
    try {
      reading.counted = await this.needs.count(tenantId, this.needs.limit + 1);
      reading.since -= before;
    } catch {
      // The last count stays valid. When the database fails, the publication itself fails.
    } finally {
      reading.at = this.#clock();
      reading.took = reading.at - began;
      reading.counting = false;
    }
  };
}
