// Waits for what must happen, as long as it takes on a busy machine.

import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE } from '../setup/patience.ts';

/** Waits until `probe` gives something other than undefined or false. */
export async function eventually<T>(
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  what: string | (() => string),
  limit: number = PATIENCE.timeout,
): Promise<T> {
  const begun = Date.now();
  for (let waited = 0; waited < limit; waited = Date.now() - begun) {
    const result = await probe();
    if (result !== undefined && result !== false) return result;
    // A probe costs a statement: what takes long is asked for less often.
    await sleep(Math.min(60, Math.max(10, waited / 10)));
  }
  throw new Error(`waited in vain for: ${typeof what === 'string' ? what : what()}`);
}
