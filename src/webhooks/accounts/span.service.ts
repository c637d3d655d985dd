// Counts a range of time span by span, with a pause after each. The spans adapt, so that no statement reaches its
// time-out.
import { setTimeout as sleep } from 'node:timers/promises';

const MINUTE = 60_000;

/**
 * The times and lengths of the spans, in milliseconds. A span doubles when its count took less than `fast`, and halves
 * when it took more than `slow`; `first` is the first length, `least` the shortest.
 */
const PACE = { fast: 200, slow: 1_000, first: 60 * MINUTE, least: MINUTE } as const;

export type Pulse = { readonly heartbeat: () => void; readonly signal: AbortSignal };

/**
 * @param range Unix milliseconds; `to` is not in it
 * @param count counts one span, whose times are ISO 8601
 * @returns what the spans have counted
 */
export async function countSpans<Part>(
  range: { readonly from: number; readonly to: number },
  pulse: Pulse,
  count: (from: string, to: string) => Promise<readonly Part[]>,
): Promise<Part[]> {
  const parts: Part[] = [];
  let length: number = PACE.first;
  for (let from = range.from; from < range.to; ) {
    pulse.signal.throwIfAborted();
    const to = Math.min(from + length, range.to);
    const start = performance.now();
    try {
      parts.push(...(await count(new Date(from).toISOString(), new Date(to).toISOString())));
      from = to;
    } catch (error) {
      // The span may have been too long for one statement.
      if (length <= PACE.least) throw error;
      length = Math.max(PACE.least, Math.floor(length / 16));
    }
    pulse.heartbeat();
    const took = performance.now() - start;
    if (took < PACE.fast && from === to) length *= 2;
    if (took > PACE.slow) length = Math.max(PACE.least, length / 2);
    await sleep(took, undefined, { signal: pulse.signal });
  }
  return parts;
}

/** Adds the numbers of parts with the same key. @param names the members that are numbers */
export function addParts<Part extends Readonly<Record<Name, number>>, Name extends string>(
  parts: readonly Part[],
  keyOf: (part: Part) => string,
  names: readonly Name[],
): Part[] {
  const sums = new Map<string, Part>();
  for (const part of parts) {
    const before = sums.get(keyOf(part));
    const added = names.map((name) => [name, part[name] + (before?.[name] ?? 0)]);
    sums.set(keyOf(part), { ...part, ...Object.fromEntries(added) });
  }
  return [...sums.values()];
}
