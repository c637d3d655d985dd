// Wires the limits of requests and of failed attempts. Each refusal is counted.
import type { Platform } from '../opening/platform.ts';
import { createFailureLimiter } from './failure-limiter.ts';
import { createLimitCounts } from './limit-counts.ts';
import { createRateLimiter, createRateLimits } from './rate-limit.ts';
import { countRefusals } from './request.metrics.ts';
import { createRequestTurns } from './request-turns.ts';

export type Limits = ReturnType<typeof wireLimits>;

/** Given to rooms that limit failed attempts. */
export type FailureLimits = { limits: Pick<Limits, 'limitFailures'> };

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
