// Coalescing: the rows of concurrent requests share one batch, which is sent when an earlier batch has returned. A
// request is answered after its own row is committed, and a faulty row fails only its own request.
// docs/decisions/0005-write-coalescing.md
import { tryAgain } from '../errors/service-error.ts';
import { classifyFailure } from './errors.ts';

export type CoalescerLimits = {
  /** The most rows of one batch; a larger item gets a batch by itself. */
  readonly rows: number;
  /** The most bytes of one batch, by `sizeOf`. */
  readonly bytes: number;
  readonly batches: number;
  /** The most waiting items; beyond them `add` is refused. */
  readonly queue: number;
};

const LIMITS: CoalescerLimits = { rows: 200, bytes: 1_048_576, batches: 2, queue: 10_000 };

const OVERLOADED = 'Too many requests wait for the database. Try again.';

/** How often a batch is sent after a deadlock or the loss of its connection. */
const TRIES = 3;

export type ItemSize = { readonly rows: number; readonly bytes: number };

type Waiting<Item, Result> = {
  readonly item: Item;
  readonly size: ItemSize;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Creates a coalescer. Without load, an item is sent at the end of the event loop's current turn. Under load it shares
 * a statement with the items that arrived while earlier batches were under way, in order of arrival.
 * @param run sends a batch in ONE transaction, and returns a result for each item in order. It may be called again
 *   after a commit whose answer was lost, then with `isRepeated`. Therefore the caller makes the ids of rows, and an
 *   existing id counts as written
 * @param sizeOf an item's rows and bytes; by default one row of no size
 */
export function createCoalescer<Item, Result>({
  run,
  sizeOf = () => ({ rows: 1, bytes: 0 }),
  limits = {},
}: {
  run: (items: readonly Item[], attempt: { readonly isRepeated: boolean }) => Promise<readonly Result[]>;
  sizeOf?: ((item: Item) => ItemSize) | undefined;
  limits?: Partial<CoalescerLimits> | undefined;
}) {
  const { rows, bytes, batches, queue: longest } = { ...LIMITS, ...limits };
  const queue: Waiting<Item, Result>[] = [];
  const underWay = new Set<Promise<void>>();
  let isScheduled = false;

  /** Waits for the end of the turn, so that requests which arrived together share a batch. */
  function schedule(): void {
    if (isScheduled || queue.length === 0 || underWay.size >= batches) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      while (queue.length > 0 && underWay.size < batches) begin(takeBatch());
    });
  }

  function begin(batch: readonly Waiting<Item, Result>[]): void {
    const sending = send(batch).finally(() => {
      underWay.delete(sending);
      schedule();
    });
    underWay.add(sending);
  }

  /** The oldest items that fit into one batch, at least one. */
  function takeBatch(): Waiting<Item, Result>[] {
    let count = 0;
    const total = { rows: 0, bytes: 0 };
    for (const { size } of queue) {
      total.rows += size.rows;
      total.bytes += size.bytes;
      if (count > 0 && (total.rows > rows || total.bytes > bytes)) break;
      count += 1;
    }
    return queue.splice(0, count);
  }

  /** Settles the promise of every item; never rejects. */
  async function send(batch: readonly Waiting<Item, Result>[], isRepeated = false, tries = 1): Promise<void> {
    try {
      const items = batch.map(({ item }) => item);
      const results = await run(items, { isRepeated });
      if (results.length !== batch.length)
        throw new Error('a batch gave another number of results than items');
      for (const [index, result] of results.entries()) batch[index]?.resolve(result);
    } catch (error) {
      const failure = classifyFailure(error);
      if (failure === 'again' && tries < TRIES) return send(batch, true, tries + 1);
      if (failure !== 'data' || batch.length === 1) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // One item is faulty: the batch is split into halves, so that the other items succeed.
      const middle = Math.ceil(batch.length / 2);
      await send(batch.slice(0, middle), isRepeated);
      await send(batch.slice(middle), isRepeated);
    }
  }

  return {
    /**
     * Sends an item with the next batch.
     * @returns its result, once the batch is committed
     * @throws ServiceError `temporarily_unavailable` when too many items wait; else the error of `run` for this item
     */
    add(item: Item): Promise<Result> {
      if (queue.length >= longest) return Promise.reject(tryAgain(OVERLOADED));
      return new Promise((resolve, reject) => {
        queue.push({ item, size: sizeOf(item), resolve, reject });
        schedule();
      });
    },

    async drain(): Promise<void> {
      while (queue.length > 0 || underWay.size > 0) {
        await Promise.all(underWay);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
