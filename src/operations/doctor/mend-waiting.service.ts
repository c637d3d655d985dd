// Waits until a mend has taken effect, for a limited time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pace } from './pace.ts';

/** Polls `probe` until it returns true. @returns false when it has not returned true within `seen` milliseconds */
export async function comesTrue(
  probe: () => Promise<boolean>,
  { seen, poll }: Pick<Pace, 'seen' | 'poll'>,
): Promise<boolean> {
  for (const end = performance.now() + seen; ; await sleep(poll)) {
    if (await probe()) return true;
    if (performance.now() > end) return false;
  }
}
