// Wires the limits of requests and of failed attempts. Each refusal is counted.
import type { Platform } from '../platform.ts';
import { createFailureLimiter } from './failure-limiter.ts';
import * as idempotencyStore from './idempotency.store.ts';
import { countRefusals } from './limit.metrics.ts';
import * as limitCountsStore from './limit-counts.store.ts';
import { createLimitCounts } from './limit-counts.ts';
import { createRateLimiter, createRateLimits } from './rate-limit.ts';
import { createRequestTurns } from './request-turns.ts';

export type Limits = ReturnType<typeof wireLimits>;

export function wireLimits({ config, database, log, registry }: Platform) {
  const onRefused = countRefusals({ registry });
  const counts = createLimitCounts({ database, log });
  return {
    rateLimits: createRateLimits(config.rateLimit, counts, onRefused),
    turns: createRequestTurns({ connections: config.databasePool }),
    limitRate: (name: string, points: number) => createRateLimiter({ name, points, counts, onRefused }),
    /** @param points failures that are allowed in a minute; 0 turns the limit off */
    limitFailures: (prefix: string, points: number) =>
      createFailureLimiter({ database, counts, points, prefix, log, onRefused }),
    close: () => counts.settled(),
  };
}

/** The purges of the tables of this folder, for retention. */
export const purgesOfRequests = {
  'idempotency keys': idempotencyStore.purge,
  'rate limits': limitCountsStore.purge,
};
