// Watches the event loop. While its rounds take long, because requests compute for long, fewer requests of a tenant may
// be at work: a tenant with one request then waits for two of another tenant, and not for eight.

/** Milliseconds between two looks, and those of a round that is slow: more than some twenty usual requests take. */
const EVERY = 10;
const SLOW_ROUND = 15;

/** The part of a slow round in which this process computed; else the machine is slow, and nothing helps. */
const COMPUTING = 0.5;

/** By which the number of requests at work is divided at most, and what a quick round takes off. */
const MOST = 4;
const RECOVERY = 0.98;

/** Milliseconds for which it is watched after the last call of `watch`. */
const WATCHED = 1_000;

type LoopPaceNeeds = { now?: (() => number) | undefined; computed?: (() => number) | undefined };

export type LoopPace = ReturnType<typeof createLoopPace>;

/**
 * @param options.now a monotonic clock in milliseconds
 * @param options.computed milliseconds for which this process has computed
 */
export function createLoopPace({
  now = () => performance.now(),
  computed = timeOfProcess,
}: LoopPaceNeeds = {}) {
  let slowness = 1;
  let lookedAt = 0;
  let computedBefore = 0;
  let wantedAt = 0;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const took = now() - lookedAt;
    const time = computed();
    const isSlow = took - EVERY > SLOW_ROUND && time - computedBefore > took * COMPUTING;
    lookedAt = now();
    computedBefore = time;
    slowness = isSlow ? Math.min(MOST, slowness * 2) : Math.max(1, slowness * RECOVERY);
    if (lookedAt - wantedAt < WATCHED) return;
    clearInterval(timer);
    timer = undefined;
    slowness = 1;
  }

  return {
    /** 1, up to 4: doubled by each slow round, and back at 1 a second after the last one. */
    slowness: () => slowness,

    /** Begins to watch; called again, goes on with it. */
    watch(): void {
      wantedAt = now();
      if (timer !== undefined) return;
      lookedAt = wantedAt;
      computedBefore = computed();
      timer = setInterval(look, EVERY).unref();
    },
  };
}

function timeOfProcess(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
