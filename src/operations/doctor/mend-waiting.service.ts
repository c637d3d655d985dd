// Waits until what was asked for can be seen. It must never wait longer than it was told.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pace } from './pace.ts';

/** Asks until the answer is yes. @returns false when it was not within `seen` milliseconds */
export async function comesTrue(
  probe: () => Promise<boolean>,
  { seen, poll }: Pick<Pace, 'seen' | 'poll'>,
): Promise<boolean> {
  for (const end = performance.now() + seen; ; await sleep(poll)) {
    if (await probe()) return true;
    if (performance.now() > end) return false;
  }
}
