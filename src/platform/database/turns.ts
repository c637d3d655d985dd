// Bounds how many works run at the same time. The others wait in the order in which they came, and none for longer than its patience.

/**
 * @param limit works that run at the same time
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
    /** Takes a turn, which must be given back. Undefined when one is free: nothing is to be awaited. */
    take(): Promise<void> | undefined {
      if (running >= limit) return join();
      running += 1;
      return undefined;
    },
    /** Hands the turn to the work that has waited for longest. */
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
