// Coalescing: who shares a batch, who pays for a fault, what is repeated, and what bounds it all.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCoalescer } from '../../../src/platform/database/coalescer.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';

const sqlError = (code: string) => Object.assign(new Error(code), { code });
const unavailable = (cause: Error) => new ServiceError('temporarily_unavailable', { cause });

/** A transaction that ends when the test says so. */
function gate() {
  const batches: number[][] = [];
  const open: (() => void)[] = [];
  const run = (items: readonly number[]) => {
    batches.push([...items]);
    return new Promise<number[]>((resolve) => open.push(() => resolve(items.map((item) => item * 10))));
  };
  return { batches, run, release: () => open.shift()?.() };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    (error: { code?: string }) => error.code ?? error,
  );

describe('a batch', () => {
  it('takes calls that arrived in one turn, immediately when nothing is under way, and later calls afterwards', async () => {
    const { batches, run, release } = gate();
    const coalescer = createCoalescer({ run });
    const first = [1, 2].map(coalescer.add);
    await turn();
    const second = [coalescer.add(3)];
    await turn();
    const third = [4, 5, 6].map(coalescer.add);
    await turn();
    expect(batches).toEqual([[1, 2], [3]]);
    release();
    expect(await Promise.all(first)).toEqual([10, 20]);
    await turn();
    expect(batches).toEqual([[1, 2], [3], [4, 5, 6]]);
    release();
    release();
    expect(await Promise.all([...second, ...third])).toEqual([30, 40, 50, 60]);
  });

  it('answers nobody before it has returned', async () => {
    const { run, release } = gate();
    const coalescer = createCoalescer({ run });
    let isAnswered = false;
    const answer = coalescer.add(1).then(() => (isAnswered = true));
    for (let n = 0; n < 5; n++) await turn();
    expect(isAnswered).toBe(false);
    release();
    await answer;
  });

  it('is of one lane; lanes take turns beside all other items, which wait for none of them', async () => {
    const { batches, run, release } = gate();
    const laneOf = (item: number) => (item < 100 ? undefined : String(Math.floor(item / 100)));
    const coalescer = createCoalescer({ run, laneOf, limits: { batches: 1, queue: 2 } });
    const next = async () => {
      release();
      await turn();
      await turn();
    };
    const sent = [100, 101, 200, 1, 102].map((item) => outcome(coalescer.add(item)));
    await turn();
    expect(batches).toEqual([[100, 101], [1]]);
    sent.push(...[2, 3, 103].map((item) => outcome(coalescer.add(item))));
    await next();
    expect(batches.slice(2)).toEqual([[200]]);
    await next();
    expect(batches.slice(3)).toEqual([[2, 3]]);
    for (const _ of [1, 2, 3]) await next();
    await coalescer.drain();
    expect(await Promise.all(sent)).toEqual([
      1_000,
      1_010,
      2_000,
      10,
      'temporarily_unavailable',
      20,
      30,
      1_030,
    ]);
  });

  it('keeps to its rows and bytes, in the order of arrival; a larger item goes alone', async () => {
    const sizes = fc.array(fc.record({ rows: fc.integer({ min: 1, max: 9 }), bytes: fc.nat(60) }), {
      maxLength: 40,
    });
    await fc.assert(
      fc.asyncProperty(sizes, async (items) => {
        const batches: (typeof items)[] = [];
        const coalescer = createCoalescer<(typeof items)[number], number>({
          run: async (batch) => {
            batches.push([...batch]);
            return batch.map((item) => items.indexOf(item));
          },
          sizeOf: (item) => item,
          limits: { rows: 10, bytes: 100 },
        });
        expect(await Promise.all(items.map(coalescer.add))).toEqual(items.map((_, index) => index));
        expect(batches.flat()).toEqual(items);
        for (const batch of batches.filter(({ length }) => length > 1)) {
          expect(batch.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(10);
          expect(batch.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(100);
        }
      }),
    );
  });

  it('is one of two at most, and the queue is bounded: beyond it 503', async () => {
    const { batches, run, release } = gate();
    const coalescer = createCoalescer({ run, limits: { rows: 1, queue: 3 } });
    const taken = [1, 2].map(coalescer.add);
    await turn();
    const waiting = [3, 4, 5].map(coalescer.add);
    await expect(coalescer.add(6)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      retryAfterSeconds: 1,
    });
    expect(batches).toEqual([[1], [2]]);
    const drained = coalescer.drain();
    for (let n = 0; n < 10; n++) {
      release();
      await turn();
    }
    await drained;
    expect(await Promise.all([...taken, ...waiting])).toEqual([10, 20, 30, 40, 50]);
  });
});

describe('a row that the database refuses', () => {
  it.each(['22P05', '23502', '54000'])('fails alone with %s: all others are written once', async (code) => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.nat(1_000), { maxLength: 50 }),
        fc.func(fc.boolean()),
        async (items, isGuilty) => {
          const written: number[] = [];
          const coalescer = createCoalescer<number, number>({
            run: async (batch) => {
              if (batch.some((item) => isGuilty(item))) throw sqlError(code);
              written.push(...batch);
              return batch;
            },
          });
          const outcomes = await Promise.all(items.map((item) => outcome(coalescer.add(item))));
          expect(outcomes).toEqual(items.map((item) => (isGuilty(item) ? code : item)));
          expect(written).toEqual(items.filter((item) => !isGuilty(item)));
        },
      ),
    );
  });
});

describe('a batch that fails as a whole', () => {
  const failing = (errors: Error[]) => {
    const committed = new Set<number>();
    let calls = 0;
    const run = async (batch: readonly number[]) => {
      calls += 1;
      const error = errors.shift();
      // A connection lost at COMMIT: the rows are there, and nobody was told.
      if (error === undefined || error.message === 'Connection terminated unexpectedly')
        for (const item of batch) committed.add(item);
      if (error !== undefined) throw error;
      return batch;
    };
    return { run, committed, calls: () => calls };
  };

  const AGAIN = [
    ['a deadlock', sqlError('40P01')],
    ['a serialisation failure', sqlError('40001')],
    ['a connection lost at COMMIT', new Error('Connection terminated unexpectedly')],
    ['a reset connection', sqlError('ECONNRESET')],
    ['a broken pipe', sqlError('EPIPE')],
    ['a server that was shut down', sqlError('57P01')],
  ] as const;

  it.each(AGAIN)('by %s is sent again, and each row is there once', async (_, error) => {
    for (const thrown of [error, unavailable(error)]) {
      const { run, committed, calls } = failing([thrown]);
      const coalescer = createCoalescer({ run });
      expect(await Promise.all([1, 2, 3].map(coalescer.add))).toEqual([1, 2, 3]);
      expect([...committed]).toEqual([1, 2, 3]);
      expect(calls()).toBe(2);
    }
  });

  it('says so to each later try, also to those of its halves', async () => {
    const told: [number, boolean][] = [];
    const errors = [AGAIN[2][1], sqlError('23505')];
    const coalescer = createCoalescer<number, number>({
      run: async (batch, { isRepeated }) => {
        told.push([batch.length, isRepeated]);
        const error = errors.shift();
        if (error !== undefined) throw error;
        return batch;
      },
    });
    expect(await Promise.all([1, 2, 3, 4].map(coalescer.add))).toEqual([1, 2, 3, 4]);
    expect(await coalescer.add(5)).toBe(5);
    expect(told).toEqual([
      [4, false],
      [4, true],
      [2, true],
      [2, true],
      [1, false],
    ]);
  });

  it('again and again is given up', async () => {
    const { run, calls } = failing(Array.from({ length: 9 }, () => sqlError('40P01')));
    const coalescer = createCoalescer({ run });
    expect(await Promise.all([1, 2].map((item) => outcome(coalescer.add(item))))).toEqual(['40P01', '40P01']);
    expect(calls()).toBe(3);
  });

  it.each([
    ['a statement that took too long', sqlError('57014')],
    ['a database that nobody can reach', sqlError('ECONNREFUSED')],
    ['a mistake in the program', new TypeError('oops')],
  ])('by %s is told to all of it immediately, and the next batch is not harmed', async (_, error) => {
    const { run, calls } = failing([error]);
    const coalescer = createCoalescer({ run });
    const results = await Promise.allSettled([1, 2].map(coalescer.add));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(calls()).toBe(1);
    expect(await coalescer.add(3)).toBe(3);
  });

  it('by giving another number of results fails all of it', async () => {
    const coalescer = createCoalescer<number, number>({ run: async () => [1] });
    const results = await Promise.allSettled([1, 2].map(coalescer.add));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });
});
