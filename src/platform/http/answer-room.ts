// Bounds the bytes of answers that clients have not taken yet: a process keeps each of them in memory until then.

const MIB = 1024 * 1024;

/** Bytes, of one client, of one tenant, and of the process. */
export type AnswerBounds = { readonly client: number; readonly tenant: number; readonly process: number };

/** `client`: a name in its tenant. `isWork`: the answer is of work that was done, and is given in any case. */
export type AnswerOwner = { readonly tenant: string; readonly client: string; readonly isWork: boolean };

const BOUNDS: AnswerBounds = { client: 8 * MIB, tenant: 16 * MIB, process: 64 * MIB };

/** Counts answers from the moment at which they are made. */
export function createAnswerRoom(bounds: AnswerBounds = BOUNDS) {
  const waiting = new Map<string, number>();

  const add = (key: string, bytes: number): void => {
    const sum = (waiting.get(key) ?? 0) + bytes;
    if (sum === 0) waiting.delete(key);
    else waiting.set(key, sum);
  };

  const sumsOf = ({ tenant, client }: AnswerOwner): [string, number][] => [
    ['', bounds.process],
    [tenant, bounds.tenant],
    [`${tenant} ${client}`, bounds.client],
  ];
  const isFull = (of: AnswerOwner): boolean =>
    !of.isWork && sumsOf(of).some(([key, most]) => (waiting.get(key) ?? 0) >= most);

  return {
    /** Whether `take` would give no room, so that the work for an answer need not begin. */
    isFull,

    /**
     * Takes room for an answer. The last answer that gets room may be larger than the bytes that are free.
     * @returns a function that gives the room back; undefined where a sum has reached its bound
     */
    take: (of: AnswerOwner, bytes: number): (() => void) | undefined => {
      if (isFull(of)) return undefined;
      const sums = sumsOf(of);
      for (const [key] of sums) add(key, bytes);
      return () => {
        for (const [key] of sums) add(key, -bytes);
      };
    },

    /** The bytes that wait in this process. */
    waiting: (): number => waiting.get('') ?? 0,
  };
}

export type AnswerRoom = ReturnType<typeof createAnswerRoom>;
