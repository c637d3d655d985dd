// Bounds the bytes of answers that clients have not taken yet: a process keeps each of them in memory until then.

const MIB = 1024 * 1024;

/** Bytes, of one client, of one tenant, and of the process. */
export type AnswerBounds = { readonly client: number; readonly tenant: number; readonly process: number };

const BOUNDS: AnswerBounds = { client: 8 * MIB, tenant: 16 * MIB, process: 64 * MIB };

/** Counts answers from the moment at which they are made. */
export function createAnswerRoom(bounds: AnswerBounds = BOUNDS) {
  const waiting = new Map<string, number>();

  const add = (key: string, bytes: number): void => {
    const sum = (waiting.get(key) ?? 0) + bytes;
    if (sum === 0) waiting.delete(key);
    else waiting.set(key, sum);
  };

  return {
    /**
     * Takes room for an answer.
     * @param of.client a name of the client in its tenant
     * @param of.isWork whether the answer is of work that was done, and is given in any case
     * @returns a function that gives the room back; undefined where a sum would be above its bound
     */
    take: (
      of: { tenant: string; client: string; isWork: boolean },
      bytes: number,
    ): (() => void) | undefined => {
      const sums: [string, number][] = [
        ['', bounds.process],
        [of.tenant, bounds.tenant],
        [`${of.tenant} ${of.client}`, bounds.client],
      ];
      const isFull = sums.some(([key, most]) => (waiting.get(key) ?? 0) + bytes > most);
      if (isFull && !of.isWork) return undefined;
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
