// Limits how much work runs concurrently, in all and for one owner. Further work waits in memory: in order of arrival
// for each owner, and the owners take turns.
import { tryAgain } from '../errors/service-error.ts';

type Begin = () => void;

/** Gives a turn back; called again, does nothing. */
type Leave = () => void;

/** Says when the next work of an owner may begin, by what earlier work has cost. */
export type Pace = {
  /** Work of an owner that has no more, at work and waiting, is not delayed. */
  readonly few: number;
  /** Milliseconds; 0: now. */
  delay(owner: string): number;
  /** @returns a function that is called when the work has ended */
  begin(owner: string): () => void;
};

/** Waits for something that others do, without the turn. */
export type OutsideTurn = <T>(wait: () => Promise<T>) => Promise<T>;

/**
 * @param options.limit of concurrent work
 * @param options.share limit of concurrent work of one owner, now; work without an owner has no share
 * @param options.queue the most waiting work of one owner; more is refused
 * @param options.patience milliseconds to wait for a turn
 * @param options.pace delays work with an owner; waiting work then begins in a later turn of the event loop, so that
 *   other events come first
 */
export function createTurns({
  limit = Number.POSITIVE_INFINITY,
  share = () => limit,
  queue: longest = Number.POSITIVE_INFINITY,
  patience,
  pace,
}: {
  limit?: number;
  share?: (() => number) | undefined;
  queue?: number;
  patience: number;
  pace?: Pace | undefined;
}) {
  const queues = new Map<string | undefined, Set<Begin>>();
  const running = new Map<string | undefined, number>();
  let total = 0;

  let timer: NodeJS.Timeout | undefined;

  const mayBegin = (owner: string | undefined): boolean =>
    total < limit && (owner === undefined || (running.get(owner) ?? 0) < share());

  /** @param waiting work of the owner, with that which is to begin */
  function delayOf(owner: string | undefined, waiting: number): number {
    if (pace === undefined || owner === undefined) return 0;
    return (running.get(owner) ?? 0) + waiting <= pace.few ? 0 : pace.delay(owner);
  }

  const count = (owner: string | undefined, change: 1 | -1): void => {
    const now = (running.get(owner) ?? 0) + change;
    total += change;
    if (now === 0) running.delete(owner);
    else running.set(owner, now);
  };

  function enter(owner: string | undefined): Leave {
    count(owner, 1);
    const end = owner === undefined ? undefined : pace?.begin(owner);
    let hasTurn = true;
    return () => {
      if (!hasTurn) return;
      hasTurn = false;
      count(owner, -1);
      end?.();
      next();
    };
  }

  function take(owner: string | undefined): Leave | Promise<Leave> {
    const isFirst = pace === undefined || !queues.has(owner);
    if (isFirst && mayBegin(owner) && delayOf(owner, 1) === 0) return enter(owner);
    const turn = join(owner);
    if (pace !== undefined) next();
    return turn;
  }

  function join(owner: string | undefined): Promise<Leave> {
    const queue = queues.get(owner) ?? new Set();
    if (queue.size >= longest) return Promise.reject(tooMany());
    queues.set(owner, queue);
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(giveUp);
        const leave = enter(owner);
        if (pace === undefined) resolve(leave);
        else setImmediate(() => resolve(leave));
      };
      const giveUp = setTimeout(() => {
        remove(owner, begin);
        reject(tooMany());
      }, patience);
      queue.add(begin);
    });
  }

  function remove(owner: string | undefined, begin: Begin): void {
    const queue = queues.get(owner);
    queue?.delete(begin);
    if (queue?.size === 0) queues.delete(owner);
  }

  /** Gives a free turn to the owner that has waited longest for one, or later to the first that may begin. */
  function next(): void {
    let soonest = Number.POSITIVE_INFINITY;
    for (const [owner, queue] of queues) {
      const [begin] = queue;
      if (begin === undefined || !mayBegin(owner)) continue;
      const delay = delayOf(owner, queue.size);
      soonest = Math.min(soonest, delay);
      if (delay > 0) continue;
      queues.delete(owner);
      queues.set(owner, queue);
      remove(owner, begin);
      begin();
      if (pace === undefined) return;
    }
    clearTimeout(timer);
    if (soonest < Number.POSITIVE_INFINITY) timer = setTimeout(next, Math.ceil(soonest));
  }

  return {
    limit,
    waiting: () => [...queues.values()].reduce((sum, { size }) => sum + size, 0),
    /**
     * Runs work when its owner has a turn. The work gets a function that gives the turn back for a wait, and takes one
     * again afterwards.
     * @throws ServiceError `temporarily_unavailable` when no turn came in time, or too much work of the owner waits
     */
    async run<T>(owner: string | undefined, work: (outsideTurn: OutsideTurn) => Promise<T>): Promise<T> {
      const taken = take(owner);
      let leave = typeof taken === 'function' ? taken : await taken;
      try {
        return await work(async (wait) => {
          leave();
          try {
            return await wait();
          } finally {
            leave = await take(owner);
          }
        });
      } finally {
        leave();
      }
    },
  };
}

export type Turns = ReturnType<typeof createTurns>;

const tooMany = () => tryAgain('Too many requests wait for the same. Try again.');
