// Collects the results of claimed rows and writes them in batches. A batch whose write fails is kept and written again,
// because no other relay takes over the claims of a living relay.
import type { Work } from './relay.store.ts';

/**
 * `marked`: rows to delete whose deliveries are marked as started. `unmarked`: other rows to delete. `unused`: those
 * of both that began no attempt. `released`: rows to give back.
 */
export type SettledBatch = { marked: Work[]; unmarked: Work[]; unused: Work[]; released: Work[] };

/** The wait before a batch whose write has failed is written again, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * @param options.write writes one batch
 * @param options.delayMs how long rows are collected; most attempts are recorded in that time and then need no mark
 */
export function createSettlement({
  write,
  delayMs = 50,
}: {
  write: (batch: SettledBatch) => Promise<void>;
  delayMs?: number;
}) {
  let batch = emptyBatch();
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  const size = () => batch.marked.length + batch.unmarked.length + batch.released.length;

  const flush = (): Promise<boolean> => {
    const taken = batch;
    batch = emptyBatch();
    const result = writing
      .then(() => write(taken))
      .then(
        () => true,
        () => {
          batch = {
            marked: [...taken.marked, ...batch.marked],
            unmarked: [...taken.unmarked, ...batch.unmarked],
            unused: [...taken.unused, ...batch.unused],
            released: [...taken.released, ...batch.released],
          };
          schedule(RETRY_MS);
          return false;
        },
      );
    writing = result.then(() => undefined);
    return result;
  };

  const schedule = (after: number) => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void flush();
    }, after);
  };

  return {
    done: (work: Work, mark: boolean): void => {
      (mark ? batch.marked : batch.unmarked).push(work);
      schedule(delayMs);
    },
    /** Settles a row that began no attempt: its delivery has ended, its workflow is gone, or begins with a wait. */
    unused: (work: Work, mark: boolean): void => {
      (mark ? batch.marked : batch.unmarked).push(work);
      batch.unused.push(work);
      schedule(delayMs);
    },
    release: (work: Work): void => {
      batch.released.push(work);
      schedule(delayMs);
    },
    /** Writes the remaining rows. @returns false when the last write failed */
    drain: async (): Promise<boolean> => {
      clearTimeout(timer);
      timer = undefined;
      await writing;
      const written = size() === 0 || (await flush());
      clearTimeout(timer);
      return written;
    },
  };
}

/** The ids of rows of the outbox. */
export const idsOf = (work: readonly Work[]): string[] => work.map(({ id }) => id);

function emptyBatch(): SettledBatch {
  return { marked: [], unmarked: [], unused: [], released: [] };
}
