// How fast each lane's receiver answered lately, as this process saw it. Pure: no clock; figures of other processes come in from the
// lane's row.

/** Answers that are remembered a lane, and how many it takes to judge by. */
const REMEMBERED = 32;
const ENOUGH = 5;

/** Lanes that are remembered; the one that was silent longest is forgotten first. */
const MOST_LANES = 20_000;

/** What the lane's row knows: `p90Ms` null while nobody has judged. */
export type StoredSpeed = { readonly p90Ms: number | null; readonly failing: boolean };

/** A receiver that answers in less than this, nearly always, may be tried inside a workflow task. */
const FAST_MS = 1_000;

/** Whether an attempt that took so many milliseconds is one of a slow receiver. */
export function isSlow(durationMs: number): boolean {
  return durationMs >= FAST_MS;
}

/** @returns `note` for each answer, `p90` in milliseconds, and `changed` for what ought to be stored */
export function createLaneSpeeds() {
  const lanes = new Map<string, { times: number[]; next: number; stored: number | undefined }>();

  const p90 = (lane: string): number | undefined => {
    const times = lanes.get(lane)?.times;
    if (times === undefined || times.length < ENOUGH) return undefined;
    const sorted = [...times].sort((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.9) - 1];
  };

  return {
    note: (lane: string, durationMs: number): void => {
      const known = lanes.get(lane) ?? { times: [], next: 0, stored: undefined };
      known.times[known.next] = durationMs;
      known.next = (known.next + 1) % REMEMBERED;
      lanes.delete(lane);
      lanes.set(lane, known);
      const oldest = lanes.size > MOST_LANES ? lanes.keys().next().value : undefined;
      if (oldest !== undefined) lanes.delete(oldest);
    },

    p90,

    /** Lanes whose figure has moved by more than a quarter since the last call that returned it. */
    changed: (): { lane: string; p90Ms: number }[] => {
      const result: { lane: string; p90Ms: number }[] = [];
      for (const [lane, known] of lanes) {
        const now = p90(lane);
        if (now === undefined) continue;
        const { stored } = known;
        if (stored !== undefined && Math.abs(now - stored) <= Math.max(stored, 20) / 4) continue;
        known.stored = now;
        result.push({ lane, p90Ms: Math.round(now) });
      }
      return result;
    },
  };
}

export type LaneSpeeds = ReturnType<typeof createLaneSpeeds>;

/** What is known of a lane's receiver: fast, slow, or neither, because it is new or refuses quickly. */
export function paceOf(stored: StoredSpeed, seen: number | undefined): 'fast' | 'unproven' | 'slow' {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms !== null && isSlow(p90Ms)) return 'slow';
  return stored.failing || p90Ms === null ? 'unproven' : 'fast';
}

/**
 * How many attempts of a lane may run inside workflow tasks at once: none unless its receiver is known to be fast and works; the
 * faster it answers, the more.
 * @param seen this process's own figure in milliseconds, which wins over the stored one
 */
export function localAttemptsOf(stored: StoredSpeed, seen: number | undefined): number {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms === null || paceOf(stored, seen) !== 'fast') return 0;
  return p90Ms < 100 ? 16 : p90Ms < 300 ? 8 : 4;
}
