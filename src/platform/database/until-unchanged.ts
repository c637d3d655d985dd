// Decisions that a statement proves: it writes nothing when a row that decided has changed since it was read.
// docs/decisions/0021-proved-memory.md
import { ServiceError } from '../errors/service-error.ts';

/** How often something is decided whose rows change at the same moment. */
const MOST_TRIES = 3;

/**
 * Decides again until nothing has changed meanwhile.
 * @param decide reads, decides, and proves by a statement what it has read; undefined when that has changed
 * @throws ServiceError `temporarily_unavailable` after three changes; each error of `decide`
 */
export async function untilUnchanged<Result>(
  decide: (isRepeated: boolean) => Promise<Result | undefined>,
): Promise<Result> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const result = await decide(tries > 0);
    if (result !== undefined) return result;
  }
  throw new ServiceError('temporarily_unavailable', { retryAfterSeconds: 1 });
}
