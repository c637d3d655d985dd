// Measures how fast each endpoint's receiver answers this process. Pure: figures of other processes come from the
// endpoint's row.

/** How many answers of an endpoint are kept, and how many are needed for a p90. */
const REMEMBERED = 32;
const ENOUGH = 5;

/** The most endpoints in memory. When there are more, the endpoint with the oldest answer is dropped. */
const MOST_ENDPOINTS = 20_000;

/** The speed in the endpoint's row. `p90Ms` is null until it was measured. */
export type StoredSpeed = { readonly p90Ms: number | null; readonly failing: boolean };

/** Receivers with a p90 below this are fast. A retry to them may run inside a workflow task. */
export const FAST_MS = 1_000;

export function isSlow(durationMs: number): boolean {
  return durationMs >= FAST_MS;
}

/** @returns `note` records an answer, `p90` is in milliseconds, `changed` returns the figures to store */
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

    /** Returns endpoints whose p90 has changed by more than a quarter since `changed` last returned it. */
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

/** @returns the speed; `unproven` is a receiver that is new, or fails quickly */
export function speedOf(stored: StoredSpeed, seen: number | undefined): 'fast' | 'unproven' | 'slow' {
  const p90Ms = seen ?? stored.p90Ms;
  if (p90Ms !== null && isSlow(p90Ms)) return 'slow';
  return stored.failing || p90Ms === null ? 'unproven' : 'fast';
}
