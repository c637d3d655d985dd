// How fast each endpoint's receiver has answered this process. Pure: the figures of other processes come from the
// endpoint's row.

/** Answers of an endpoint that are remembered, and how many are needed for a figure. */
const REMEMBERED = 32;
const ENOUGH = 5;

/** Endpoints that are remembered; the one with the oldest answer is forgotten first. */
const MOST_ENDPOINTS = 20_000;

/** The speed in the endpoint's row; `p90Ms` is null before there is a figure. */
export type StoredSpeed = { readonly p90Ms: number | null; readonly failing: boolean };

/** Attempts to a receiver whose p90 is less than this may be made inside workflow tasks. */
const FAST_MS = 1_000;

/** Whether an attempt that took so many milliseconds is one of a slow receiver. */
export function isSlow(durationMs: number): boolean {
  return durationMs >= FAST_MS;
}

/** @returns `note` for each answer, `p90` in milliseconds, and `changed` for the figures to store */
export function createEndpointSpeeds() {
  const endpoints = new Map<string, { times: number[]; next: number; stored: number | undefined }>();

  const p90 = (endpoint: string): number | undefined => {
    const times = endpoints.get(endpoint)?.times;
    if (times === undefined || times.length < ENOUGH) return undefined;
    const sorted = [...times].sort((a, b) => a - b);
    return sorted[Math.ceil(sorted.length * 0.9) - 1];
  };

  return {
    note: (endpoint: string, durationMs: number): void => {
      const known = endpoints.get(endpoint) ?? { times: [], next: 0, stored: undefined };
      known.times[known.next] = durationMs;
      known.next = (known.next + 1) % REMEMBERED;
      endpoints.delete(endpoint);
      endpoints.set(endpoint, known);
      const oldest = endpoints.size > MOST_ENDPOINTS ? endpoints.keys().next().value : undefined;
      if (oldest !== undefined) endpoints.delete(oldest);
    },

    p90,

    /** Endpoints whose figure has moved by more than a quarter since the last call that returned it. */
    changed: (): { endpoint: string; p90Ms: number }[] => {
      const result: { endpoint: string; p90Ms: number }[] = [];
      for (const [endpoint, known] of endpoints) {
        const now = p90(endpoint);
        if (now === undefined) continue;
        const { stored } = known;
        if (stored !== undefined && Math.abs(now - stored) <= Math.max(stored, 20) / 4) continue;
        known.stored = now;
        result.push({ endpoint, p90Ms: Math.round(now) });
      }
      return result;
    },
  };
}

/** The pace of an endpoint's receiver: fast, slow, or unproven, because it is new or fails quickly. */
export function paceOf(stored: StoredSpeed, seen: number | undefined): 'fast' | 'unproven' | 'slow' {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms !== null && isSlow(p90Ms)) return 'slow';
  return stored.failing || p90Ms === null ? 'unproven' : 'fast';
}

/**
 * How many attempts of an endpoint may run inside workflow tasks concurrently: none unless its receiver is known to be
 * fast and works; the faster it answers, the more.
 * @param seen the figure of this process in milliseconds, which wins over the stored one
 */
export function localAttemptsOf(stored: StoredSpeed, seen: number | undefined): number {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms === null || paceOf(stored, seen) !== 'fast') return 0;
  return p90Ms < 100 ? 16 : p90Ms < 300 ? 8 : 4;
}
