// Repeats a change that did not get its lock. A statement that waits for a table lock blocks all later statements, so
// the change must set a short `lock_timeout`.
import { setTimeout } from 'node:timers/promises';
import { sqlState } from './errors.ts';

const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Repeats a change until it gets its lock.
 * @param options.pause milliseconds between two tries, on average
 * @throws the error of the last try; any other error immediately
 */
export async function repeatWhileLocked<T>(
  change: () => Promise<T>,
  { tries, pause }: { readonly tries: number; readonly pause: number },
): Promise<T> {
  for (let n = 1; ; n += 1)
    try {
      return await change();
    } catch (error) {
      if (n >= tries || !isLockTimeout(error)) throw error;
      await setTimeout(pause * (0.5 + Math.random()));
    }
}

/** True when an error, translated or not, means that a lock was not available in time. */
export function isLockTimeout(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return sqlState(cause) === LOCK_NOT_AVAILABLE;
}
