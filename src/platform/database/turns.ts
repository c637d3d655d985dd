// Limits how much work runs concurrently, in all and for one owner. Further work waits in memory: in order of arrival
// for each owner, and the owners take turns.
import { tryAgain } from '../errors/service-error.ts';

type Begin = () => void;

/** Waits for something that others do, without the turn. */
export type OutsideTurn = <T>(wait: () => Promise<T>) => Promise<T>;

/**
 * @param options.limit of concurrent work
 * @param options.share limit of concurrent work of one owner, now, of which some runs; work without an owner has none
 * @param options.queue the most waiting work of one owner; more is refused
 * @param options.patience milliseconds to wait for a turn
 * @param options.isPaced lets waiting work begin in a later turn of the event loop, so that other events come first
 */
export function createTurns({
  limit = Number.POSITIVE_INFINITY,
  share = () => limit,
  queue: longest = Number.POSITIVE_INFINITY,
  patience,
  isPaced = false,
}: {
  limit?: number;
  share?: ((owner: string, running: number) => number) | undefined;
  queue?: number;
  patience: number;
  isPaced?: boolean;
}) {
  const queues = new Map<string | undefined, Set<Begin>>();
  const running = new Map<string | undefined, number>();
  let total = 0;

  const mayBegin = (owner: string | undefined): boolean => {
    if (total >= limit || owner === undefined) return total < limit;
    const some = running.get(owner) ?? 0;
    return some < share(owner, some);
  };

  const count = (owner: string | undefined, change: 1 | -1): void => {
    const now = (running.get(owner) ?? 0) + change;
    total += change;
    if (now === 0) running.delete(owner);
    else running.set(owner, now);
  };

  function join(owner: string | undefined): Promise<void> {
    const queue = queues.get(owner) ?? new Set();
    if (queue.size >= longest) return Promise.reject(tooMany());
    queues.set(owner, queue);
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        if (isPaced) setImmediate(resolve);
        else resolve();
      };
      const timer = setTimeout(() => {
        leave(owner, begin);
        reject(tooMany());
      }, patience);
      queue.add(begin);
    });
  }

  function leave(owner: string | undefined, begin: Begin): void {
    const queue = queues.get(owner);
    queue?.delete(begin);
    if (queue?.size === 0) queues.delete(owner);
  }

  /** Gives a free turn to the owner that has waited longest for one. */
  function next(): void {
    for (const [owner, queue] of queues) {
      const [begin] = queue;
      if (begin === undefined || !mayBegin(owner)) continue;
      queues.delete(owner);
      queues.set(owner, queue);
      leave(owner, begin);
      count(owner, 1);
      begin();
      return;
    }
  }

  return {
    limit,
    waiting: () => [...queues.values()].reduce((sum, { size }) => sum + size, 0),
    /**
     * Runs work when its owner has a turn. The work gets a function that gives the turn back for a wait, and takes one
     * again afterwards; and a function that gives it back for good.
     * @throws ServiceError `temporarily_unavailable` when no turn came in time, or too much work of the owner waits
     */
    async run<T>(
      owner: string | undefined,
      work: (outsideTurn: OutsideTurn, leave: () => void) => Promise<T>,
    ): Promise<T> {
      if (mayBegin(owner)) count(owner, 1);
      else await join(owner);
      let hasTurn = true;
      const leave = (): void => {
        if (!hasTurn) return;
        hasTurn = false;
        count(owner, -1);
        next();
      };
      try {
        return await work(async (wait) => {
          leave();
          try {
            return await wait();
          } finally {
            if (mayBegin(owner)) count(owner, 1);
            else await join(owner);
            hasTurn = true;
          }
        }, leave);
      } finally {
        leave();
      }
    },
  };
}

export type Turns = ReturnType<typeof createTurns>;

const tooMany = () => tryAgain('Too many requests wait for the same. Try again.');
