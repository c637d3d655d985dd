// How fast each endpoint's receiver answered lately, as this process saw it. Pure: no clock; figures of other processes come in from the
// endpoint's row.

/** Answers that are remembered an endpoint, and how many it takes to judge by. */
const REMEMBERED = 32;
const ENOUGH = 5;

/** Endpoints that are remembered; the one that was silent longest is forgotten first. */
const MOST_ENDPOINTS = 20_000;

/** What the endpoint's row knows: `p90Ms` null while nobody has judged. */
export type StoredSpeed = { readonly p90Ms: number | null; readonly failing: boolean };

/** A receiver that answers in less than this, nearly always, may be tried inside a workflow task. */
const FAST_MS = 1_000;

/** Whether an attempt that took so many milliseconds is one of a slow receiver. */
export function isSlow(durationMs: number): boolean {
  return durationMs >= FAST_MS;
}

/** @returns `note` for each answer, `p90` in milliseconds, and `changed` for what ought to be stored */
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

/** What is known of an endpoint's receiver: fast, slow, or neither, because it is new or refuses quickly. */
export function paceOf(stored: StoredSpeed, seen: number | undefined): 'fast' | 'unproven' | 'slow' {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms !== null && isSlow(p90Ms)) return 'slow';
  return stored.failing || p90Ms === null ? 'unproven' : 'fast';
}

/**
 * How many attempts of an endpoint may run inside workflow tasks at once: none unless its receiver is known to be fast and works; the
 * faster it answers, the more.
 * @param seen this process's own figure in milliseconds, which wins over the stored one
 */
export function localAttemptsOf(stored: StoredSpeed, seen: number | undefined): number {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms === null || paceOf(stored, seen) !== 'fast') return 0;
  return p90Ms < 100 ? 16 : p90Ms < 300 ? 8 : 4;
}
