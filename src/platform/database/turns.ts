// Limits how many works run concurrently. The others wait in their order of arrival, each at most for its patience.

/**
 * @param limit works that run concurrently
 * @param patience milliseconds that a work waits for its turn
 */
export function createTurns({ limit, patience }: { limit: number; patience: number }) {
  const waiting = new Set<() => void>();
  let running = 0;

  function join(): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        waiting.delete(begin);
        reject(new Error('timeout exceeded when waiting for a turn'));
      }, patience);
      waiting.add(begin);
    });
  }

  return {
    limit,
    /** Works that wait for their turn. */
    waiting: () => waiting.size,
    /** Takes a turn, which must be given back. Returns undefined when a turn is free: the caller need not wait. */
    take(): Promise<void> | undefined {
      if (running >= limit) return join();
      running += 1;
      return undefined;
    },
    /** Gives the turn to the work that has waited longest. */
    giveBack(): void {
      const [next] = waiting;
      if (next === undefined) {
        running -= 1;
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}

export type Turns = ReturnType<typeof createTurns>;
