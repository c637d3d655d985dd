// Decides whether workflows start with search attributes. A server that does not know them refuses the start, which is
// then repeated without them.
import { isGrpcServiceError } from '@temporalio/client';

/** Milliseconds for which workflows start without search attributes after a refusal. */
const DEGRADED_MS = 60_000;

const INVALID_ARGUMENT = 3;

/** @param options.now milliseconds of a monotonic clock */
export function createIndexing({ now = () => performance.now() }: { now?: (() => number) | undefined } = {}) {
  let degradedUntil = Number.NEGATIVE_INFINITY;
  const isOn = (): boolean => now() >= degradedUntil;
  return {
    isOn,

    /** Calls `start` with search attributes, and again without them when the server refused them. */
    attempt: async <T>(start: (indexed: boolean) => Promise<T>): Promise<T> => {
      const indexed = isOn();
      try {
        return await start(indexed);
      } catch (error) {
        if (!indexed || !isRefusedAttribute(error)) throw error;
        degradedUntil = now() + DEGRADED_MS;
        return start(false);
      }
    },
  };
}

function isRefusedAttribute(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (isGrpcServiceError(cause))
      return cause.code === INVALID_ARGUMENT && /search attribute/i.test(`${cause.details} ${cause.message}`);
  }
  return false;
}
