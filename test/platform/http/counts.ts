// Counts of requests for tests of one process: the database always knows only what this process told it.
import { createLimitCounts } from '../../../src/platform/http/limit-counts.ts';
import { createRateLimits } from '../../../src/platform/http/rate-limit.ts';

export function countAlone() {
  const known = new Map<string, number>();
  return createLimitCounts({
    store: {
      add: async (_queryable, batch) =>
        batch.map(({ key, count, milliseconds }) => {
          known.set(key, (known.get(key) ?? 0) + count);
          return { count: known.get(key) ?? 0, milliseconds };
        }),
    },
    database: { query: () => Promise.reject(new Error('There is no database.')) },
    log: {
      warn: (line) => {
        throw new Error(JSON.stringify(line));
      },
    },
  });
}

export const NO_LIMITS = createRateLimits({ tenant: 0, address: 0 }, countAlone());
