// Remembers the proofs that were used, so that each is accepted once. Several processes need a store that they share.

/** Records the use of proofs. */
export type ReplayStore = {
  /**
   * Records a use in one atomic step: of concurrent calls with one key exactly one gets true.
   * @param key of fixed length, made of the proof's key and `jti` @param expiresAt Unix seconds; later the proof is too
   *   old, and the row may go @returns false when the key is recorded; a rejection refuses the request with 503
   */
  use(key: string, expiresAt: number): boolean | Promise<boolean>;
};

/**
 * Creates a store for a single process. When it is full of proofs that could still be replayed it throws, so that the
 * request is refused: a proof that is forgotten could be used again. Only holders of valid tokens add to it.
 * @param options.limit proofs at most @param options.now milliseconds since 1970
 */
export function createMemoryReplayStore({
  limit = 100_000,
  now = Date.now,
}: {
  limit?: number | undefined;
  now?: (() => number) | undefined;
} = {}): ReplayStore & { readonly size: number } {
  const used = new Map<string, number>();
  let forgottenUntil = Number.NEGATIVE_INFINITY;

  const forget = (key: string, expiresAt: number): void => {
    used.delete(key);
    forgottenUntil = Math.max(forgottenUntil, expiresAt);
  };

  const forgetOldest = (time: number): void => {
    for (const [key, expiresAt] of used) {
      if (expiresAt >= time) return;
      forget(key, expiresAt);
    }
  };

  const forgetAll = (time: number): void => {
    for (const [key, expiresAt] of used) if (expiresAt < time) forget(key, expiresAt);
  };

  return {
    use: (key, expiresAt) => {
      const time = now() / 1000;
      forgetOldest(time);
      // A clock that was set back makes proofs recent again that are forgotten.
      if (used.has(key) || expiresAt <= forgottenUntil) return false;
      if (used.size >= limit) forgetAll(time);
      if (used.size >= limit) throw new Error(`${limit} proofs are remembered, and none has expired`);
      used.set(key, expiresAt);
      return true;
    },
    get size() {
      return used.size;
    },
  };
}
