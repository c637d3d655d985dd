// How often failures are reported, on a clock of the test's own.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { FailureReporter } from '../../src/audit/failure-report.service.ts';

let told: [string, number][];
let errors: unknown[];

beforeEach(() => {
  vi.useFakeTimers();
  told = [];
  errors = [];
});

afterEach(() => vi.useRealTimers());

const create = (tell = async (failure: string, count: number) => void told.push([failure, count])) =>
  new FailureReporter<string>({ tell, onError: (error) => errors.push(error) });

describe('failures', () => {
  it('are reported immediately, then once a minute with their number, and no more when they stop', async () => {
    const reporter = create();
    reporter.report('a', 'first');
    expect(told).toEqual([['first', 1]]);
    for (let index = 0; index < 500; index += 1) reporter.report('a', `later ${index}`);
    expect(told).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([
      ['first', 1],
      ['later 499', 500],
    ]);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(told).toHaveLength(2);
    reporter.report('a', 'again');
    expect(told.at(-1)).toEqual(['again', 1]);
  });

  it('say of each telling whether it is that of a first failure', async () => {
    const isFirst: boolean[] = [];
    const reporter = new FailureReporter<string>({
      tell: async (_failure, _count, first) => void isFirst.push(first),
      onError: (error) => errors.push(error),
    });
    expect([reporter.report('a', 'x'), reporter.report('a', 'y'), reporter.report('b', 'z')]).toEqual([
      true,
      false,
      true,
    ]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isFirst).toEqual([true, true, false]);
  });

  it('of different kinds are counted apart', () => {
    const reporter = create();
    reporter.report('a', 'a');
    reporter.report('b', 'b');
    reporter.report('b', 'b');
    expect(told).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
  });

  it('that could not be reported are counted into the next report', async () => {
    let isBroken = true;
    const reporter = create(async (failure, count) => {
      if (isBroken) throw new Error('down');
      told.push([failure, count]);
    });
    reporter.report('a', 'first');
    await reporter.settled();
    reporter.report('a', 'second');
    isBroken = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(errors).toHaveLength(1);
    expect(told).toEqual([['second', 2]]);
  });

  it('that were counted are reported when the process ends', async () => {
    const reporter = create();
    reporter.report('a', 'first');
    reporter.report('a', 'second');
    await reporter.close();
    expect(told).toEqual([
      ['first', 1],
      ['second', 1],
    ]);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(told).toHaveLength(2);
  });
});
