// Remembers the proofs that were used, so that each is accepted once. Several processes need a store that they share.

/** Records the use of proofs. */
export type ReplayStore = {
  /**
   * Records a use in one atomic step: of concurrent calls with one key exactly one gets true.
   * @param key of fixed length, made of the proof's key and `jti` @param expiresAt Unix seconds; later the proof is too
   *   old, and the row may go @param jkt the thumbprint of the proof's key, for a share of each client
   * @returns false when the key is recorded; a rejection refuses the request with 503
   */
  use(key: string, expiresAt: number, jkt?: string): boolean | Promise<boolean>;
};

/** A key of proofs, and how many of those that are remembered are by it. */
type Prover = { readonly jkt: string; proofs: number };

type Use = { readonly expiresAt: number; readonly prover: Prover };

/**
 * Creates a store for a single process. When it is full of proofs that could still be replayed it throws, so that the
 * request is refused: a proof that is forgotten could be used again. Only holders of valid tokens add to it, and a key
 * has at most as many as there is room for: one that takes all it can leaves half, and a quarter to the next one.
 * @param options.limit proofs at most @param options.now milliseconds since 1970
 */
export function createMemoryReplayStore({
  limit = 100_000,
  now = Date.now,
}: {
  limit?: number | undefined;
  now?: (() => number) | undefined;
} = {}): ReplayStore & { readonly size: number } {
  const used = new Map<string, Use>();
  const provers = new Map<string, Prover>();
  let forgottenUntil = Number.NEGATIVE_INFINITY;
  let searchedAt = Number.NaN;

  const forget = (key: string, { expiresAt, prover }: Use): void => {
    used.delete(key);
    prover.proofs -= 1;
    if (prover.proofs === 0) provers.delete(prover.jkt);
    forgottenUntil = Math.max(forgottenUntil, expiresAt);
  };

  const forgetOldest = (time: number): void => {
    for (const [key, use] of used) {
      if (use.expiresAt >= time) return;
      forget(key, use);
    }
  };

  /** In their order most are gone already; the others are searched once in each second of their times. */
  const forgetAll = (time: number): void => {
    const second = Math.floor(time);
    if (second === searchedAt) return;
    searchedAt = second;
    for (const [key, use] of used) if (use.expiresAt < time) forget(key, use);
  };

  const isFullFor = (jkt: string): boolean => (provers.get(jkt)?.proofs ?? 0) >= limit - used.size;

  return {
    use: (key, expiresAt, jkt = key) => {
      const time = now() / 1000;
      forgetOldest(time);
      // A clock that was set back makes proofs recent again that are forgotten.
      if (used.has(key) || expiresAt <= forgottenUntil) return false;
      if (isFullFor(jkt)) forgetAll(time);
      if (isFullFor(jkt))
        throw new Error(
          `of ${limit} proofs ${used.size} are remembered, and no fewer by this key than are free`,
        );
      const prover = provers.get(jkt) ?? { jkt, proofs: 0 };
      prover.proofs += 1;
      provers.set(jkt, prover);
      used.set(key, { expiresAt, prover });
      return true;
    },
    get size() {
      return used.size;
    },
  };
}
