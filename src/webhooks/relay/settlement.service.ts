// Collects the results of claimed rows and writes them in batches. A batch whose write fails is kept and written again,
// because no other relay takes over the claims of a living relay.
import { Service } from '../../platform/service.ts';
import type { Work } from './relay.store.ts';

/**
 * `marked`: rows to delete whose deliveries are marked as started. `unmarked`: other rows to delete. `unused`: those
 * of both that began no attempt. `released`: rows to give back.
 */
export type SettledBatch = { marked: Work[]; unmarked: Work[]; unused: Work[]; released: Work[] };

/** The wait before a batch whose write has failed is written again, in milliseconds. */
const RETRY_MS = 1_000;

export class Settlement extends Service<{
  /** Writes one batch. */
  write: (batch: SettledBatch) => Promise<void>;
  /** How long rows are collected; most attempts are recorded in that time and then need no mark. */
  delayMs?: number;
}> {
  readonly #delayMs = this.needs.delayMs ?? 50;
  #batch = emptyBatch();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** Settles a row whose work is done. @param mark notes the start of its workflow */
  done = (work: Work, mark: boolean): void => {
    (mark ? this.#batch.marked : this.#batch.unmarked).push(work);
    this.#schedule(this.#delayMs);
  };

  /** Settles a row that began no attempt: its delivery has ended, its workflow is gone, or begins with a wait. */
  unused = (work: Work, mark: boolean): void => {
    (mark ? this.#batch.marked : this.#batch.unmarked).push(work);
    this.#batch.unused.push(work);
    this.#schedule(this.#delayMs);
  };

  /** Gives a row back, for any relay to claim. */
  release = (work: Work): void => {
    this.#batch.released.push(work);
    this.#schedule(this.#delayMs);
  };

  /** Writes the remaining rows. @returns false when the last write failed */
  drain = async (): Promise<boolean> => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#writing;
    const written = this.#size() === 0 || (await this.#flush());
    clearTimeout(this.#timer);
    return written;
  };

  #size = () => this.#batch.marked.length + this.#batch.unmarked.length + this.#batch.released.length;

  #flush = (): Promise<boolean> => {
    const taken = this.#batch;
    this.#batch = emptyBatch();
    const result = this.#writing
      .then(() => this.needs.write(taken))
      .then(
        () => true,
        () => {
          this.#batch = {
            marked: [...taken.marked, ...this.#batch.marked],
            unmarked: [...taken.unmarked, ...this.#batch.unmarked],
            unused: [...taken.unused, ...this.#batch.unused],
            released: [...taken.released, ...this.#batch.released],
          };
          this.#schedule(RETRY_MS);
          return false;
        },
      );
    this.#writing = result.then(() => undefined);
    return result;
  };

  #schedule = (after: number) => {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#flush();
    }, after);
  };
}

/** The ids of rows of the outbox. */
export const idsOf = (work: readonly Work[]): string[] => work.map(({ id }) => id);

function emptyBatch(): SettledBatch {
  return { marked: [], unmarked: [], unused: [], released: [] };
}
