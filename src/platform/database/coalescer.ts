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
  /** The most batches under way, and one more of all lanes together. */
  readonly batches: number;
  /** The most waiting items of a lane; beyond them `add` is refused. */
  readonly queue: number;
};

const LIMITS: CoalescerLimits = { rows: 200, bytes: 1_048_576, batches: 2, queue: 10_000 };

const OVERLOADED = 'Too many requests wait for the database. Try again.';

/** The lane of all items without one. */
const SHARED = '';

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
 * @param laneOf a name for costly items, which share batches with items of the same lane alone, and hold up no others:
 *   the lanes take turns, beside the batches of all other items
 */
export function createCoalescer<Item, Result>({
  run,
  sizeOf = () => ({ rows: 1, bytes: 0 }),
  laneOf = () => undefined,
  limits = {},
}: {
  run: (items: readonly Item[], attempt: { readonly isRepeated: boolean }) => Promise<readonly Result[]>;
  sizeOf?: ((item: Item) => ItemSize) | undefined;
  laneOf?: ((item: Item) => string | undefined) | undefined;
  limits?: Partial<CoalescerLimits> | undefined;
}) {
  const { rows, bytes, batches, queue: longest } = { ...LIMITS, ...limits };
  /** What waits, by lane. */
  const lanes = new Map<string, Waiting<Item, Result>[]>();
  const underWay = { shared: new Set<Promise<void>>(), apart: new Set<Promise<void>>() };
  let isScheduled = false;

  const placesOf = (lane: string) => (lane === SHARED ? underWay.shared : underWay.apart);

  /** The lane that has waited longest, of those that may send. */
  function findNext(): string | undefined {
    for (const lane of lanes.keys()) if (placesOf(lane).size < (lane === SHARED ? batches : 1)) return lane;
    return undefined;
  }

  /** Waits for the end of the turn, so that requests which arrived together share a batch. */
  function schedule(): void {
    if (isScheduled || findNext() === undefined) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      for (let lane = findNext(); lane !== undefined; lane = findNext()) begin(lane);
    });
  }

  function begin(lane: string): void {
    const places = placesOf(lane);
    const sending = send(takeBatch(lane)).finally(() => {
      places.delete(sending);
      schedule();
    });
    places.add(sending);
  }

  /** The oldest items of a lane that fit into one batch, at least one. */
  function takeBatch(lane: string): Waiting<Item, Result>[] {
    const queue = lanes.get(lane) ?? [];
    let count = 0;
    const total = { rows: 0, bytes: 0 };
    for (const { size } of queue) {
      total.rows += size.rows;
      total.bytes += size.bytes;
      if (count > 0 && (total.rows > rows || total.bytes > bytes)) break;
      count += 1;
    }
    const batch = queue.splice(0, count);
    lanes.delete(lane);
    if (queue.length > 0) lanes.set(lane, queue);
    return batch;
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
      const lane = laneOf(item) ?? SHARED;
      const queue = lanes.get(lane) ?? [];
      if (queue.length >= longest) return Promise.reject(tryAgain(OVERLOADED));
      return new Promise((resolve, reject) => {
        queue.push({ item, size: sizeOf(item), resolve, reject });
        lanes.set(lane, queue);
        schedule();
      });
    },

    async drain(): Promise<void> {
      while (lanes.size > 0 || underWay.shared.size + underWay.apart.size > 0) {
        await Promise.all([...underWay.shared, ...underWay.apart]);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
