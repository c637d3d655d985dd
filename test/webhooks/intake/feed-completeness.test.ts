// Until when the feed is complete: never later than the truth, in whatever order transactions and statements come.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createFeedCompleteness,
  type SeenTransactions,
} from '../../../src/webhooks/intake/feed-completeness.ts';

/** A database whose transactions begin and end by steps, and whose clock can be set back. */
function createModel() {
  const open: bigint[] = [];
  const committed: { number: bigint; at: number }[] = [];
  let next = 100n;
  let ended = 99n;
  let clock = 1_000;
  return {
    committed,
    now: () => clock,
    tick: (ms: number) => {
      clock += ms;
    },
    begin: () => {
      open.push(next);
      next += 1n;
    },
    end: (which: number, commits: boolean) => {
      const [number] = open.splice(which % Math.max(1, open.length), 1);
      if (number === undefined) return;
      if (number > ended) ended = number;
      if (commits) committed.push({ number, at: clock });
    },
    snapshot: () => {
      const newest = ended + 1n;
      return { newest, horizon: open[0] ?? newest };
    },
  };
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('begin' as const) }),
  fc.record({ kind: fc.constant('end' as const), which: fc.nat(9), commits: fc.boolean() }),
  fc.record({ kind: fc.constant('tick' as const), ms: fc.nat(3) }),
  // A statement begins, takes its snapshot, and its answer arrives; others come between.
  fc.record({ kind: fc.constant('ask' as const) }),
  fc.record({ kind: fc.constant('look' as const), which: fc.nat(9) }),
  fc.record({ kind: fc.constant('arrive' as const), which: fc.nat(9) }),
  fc.record({ kind: fc.constant('set back' as const), ms: fc.integer({ min: 1, max: 20 }) }),
);

describe('until when the feed is complete', () => {
  it('is a time before which nothing committed that a page of this horizon lacks', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const model = createModel();
        const completeness = createFeedCompleteness();
        const asked: number[] = [];
        const looked: SeenTransactions[] = [];
        const read = (seen: SeenTransactions | undefined): void => {
          if (seen === undefined) return;
          completeness.add(seen);
          const until = completeness.until(seen.horizon) ?? 0;
          expect(until).toBeLessThanOrEqual(seen.at);
          const missed = model.committed.filter(({ number, at }) => at < until && number >= seen.horizon);
          expect(missed).toEqual([]);
        };
        const look = (at: number | undefined): void => {
          if (at !== undefined) looked.push({ ...model.snapshot(), at });
        };
        for (const each of steps) {
          if (each.kind === 'begin') model.begin();
          else if (each.kind === 'end') model.end(each.which, each.commits);
          else if (each.kind === 'tick') model.tick(each.ms);
          else if (each.kind === 'ask') asked.push(model.now());
          else if (each.kind === 'look') look(asked.splice(each.which, 1)[0]);
          else if (each.kind === 'arrive') read(looked.splice(each.which, 1)[0]);
          else {
            // It is set back while no statement is under way, by more than the statements are apart.
            for (const at of asked.splice(0)) look(at);
            for (const seen of looked.splice(0)) read(seen);
            model.tick(-each.ms);
            read({ ...model.snapshot(), at: model.now() });
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the best that the statements have seen', () => {
    const sights = fc.array(
      fc.record({
        ms: fc.nat(5),
        ended: fc.bigInt({ min: 0n, max: 5n }),
        open: fc.bigInt({ min: 0n, max: 20n }),
      }),
      { minLength: 1, maxLength: 200 },
    );
    fc.assert(
      fc.property(sights, (all) => {
        const completeness = createFeedCompleteness();
        const seen: SeenTransactions[] = [];
        for (const { ms, ended, open } of all) {
          const last = seen.at(-1) ?? { at: 1_000, newest: 100n, horizon: 80n };
          const newest = last.newest + ended;
          const horizon = newest - open > last.horizon ? newest - open : last.horizon;
          seen.push({ at: last.at + 1 + ms, newest, horizon });
          completeness.add(seen.at(-1) as SeenTransactions);
          const best = seen.findLast((fact) => fact.newest <= horizon)?.at;
          expect(completeness.until(horizon)).toBe(best);
        }
      }),
    );
  });

  it('is the time of the statement itself when no transaction is open', () => {
    const completeness = createFeedCompleteness();
    completeness.add({ horizon: 7n, newest: 7n, at: 1_234 });
    expect(completeness.until(7n)).toBe(1_234);
  });

  it('is unknown where a transaction is older than all that was seen', () => {
    const completeness = createFeedCompleteness();
    for (let at = 0; at < 1_000; at += 1) completeness.add({ horizon: 7n, newest: 9n + BigInt(at), at });
    expect(completeness.until(7n)).toBeUndefined();
  });

  it('stays the time at which a transaction began that is open for days, and is the present after it', () => {
    const completeness = createFeedCompleteness();
    const second = 1_000;
    const days = 3 * 86_400;
    for (let at = 1; at < 100; at += 1) completeness.add({ horizon: 5n, newest: 5n, at: at * second });
    for (let at = 100; at < days; at += 1)
      completeness.add({ horizon: 5n, newest: 6n + BigInt(at), at: at * second });
    const until = completeness.until(5n) ?? 0;
    expect(until).toBeLessThanOrEqual(99 * second);
    expect(until).toBeGreaterThan(0);
    const end = 6n + BigInt(days);
    completeness.add({ horizon: end, newest: end, at: days * second });
    expect(completeness.until(end)).toBe(days * second);
    expect(completeness.until(end - 1n)).toBe((days - 1) * second);
  });

  it('is counted anew for a database that was replaced', () => {
    const completeness = createFeedCompleteness();
    completeness.add({ horizon: 900n, newest: 900n, at: 1_000 });
    completeness.add({ horizon: 50n, newest: 60n, at: 2_000 });
    expect(completeness.until(50n)).toBeUndefined();
    completeness.add({ horizon: 60n, newest: 61n, at: 3_000 });
    expect(completeness.until(60n)).toBe(2_000);
  });
});
