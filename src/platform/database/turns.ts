// Limits how many pieces of work run concurrently. Further work waits in order of arrival, at most for `patience`.

/**
 * @param limit of concurrent work
 * @param patience milliseconds to wait for a turn
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
    waiting: () => waiting.size,
    /**
     * Takes a turn; `giveBack` must follow. Returns undefined when a turn is free, so that the caller need not wait.
     */
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
