// Watches the event loop. While its rounds take long, because requests compute for long, fewer requests of a tenant may
// be at work: a tenant with one request then waits for one of another tenant, and not for eight.

/** Milliseconds between two looks, and those of a round that is slow: more than some twenty usual requests take. */
const EVERY = 10;
const SLOW_ROUND = 15;

/** By which the number of requests at work is divided at most, and what a quick round takes off. */
const MOST = 8;
const RECOVERY = 0.98;

/** Milliseconds for which it is watched after the last call of `watch`. */
const WATCHED = 1_000;

export type LoopPace = ReturnType<typeof createLoopPace>;

/** @param options.now a monotonic clock in milliseconds */
export function createLoopPace({ now = () => performance.now() }: { now?: (() => number) | undefined } = {}) {
  let slowness = 1;
  let lookedAt = 0;
  let wantedAt = 0;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const late = now() - lookedAt - EVERY;
    lookedAt = now();
    slowness = late > SLOW_ROUND ? Math.min(MOST, slowness * 2) : Math.max(1, slowness * RECOVERY);
    if (lookedAt - wantedAt < WATCHED) return;
    clearInterval(timer);
    timer = undefined;
    slowness = 1;
  }

  return {
    /** 1, up to 8: doubled by each slow round, and back at 1 a second after the last one. */
    slowness: () => slowness,

    /** Begins to watch; called again, goes on with it. */
    watch(): void {
      wantedAt = now();
      if (timer !== undefined) return;
      lookedAt = wantedAt;
      timer = setInterval(look, EVERY).unref();
    },
  };
}
