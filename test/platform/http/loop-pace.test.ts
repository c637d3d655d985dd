// How slow the event loop is, by the rounds that it takes.
import { expect, it, onTestFinished, vi } from 'vitest';
import { createLoopPace } from '../../../src/platform/http/loop-pace.ts';

function open() {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const clock = { ahead: 0, computed: 0 };
  const pace = createLoopPace({ now: () => Date.now() + clock.ahead, computed: () => clock.computed });
  /** Rounds of the event loop that are these milliseconds longer, in which the process computes. */
  const pass = (count: number, longer = 0, computed = longer) => {
    for (let n = 0; n < count; n += 1) {
      clock.ahead += longer;
      clock.computed += computed;
      vi.advanceTimersByTime(10);
    }
  };
  return { pace, pass };
}

it('is 1 while rounds are short', () => {
  const { pace, pass } = open();
  pace.watch();
  pass(50, 10);
  expect(pace.slowness()).toBe(1);
});

it('is 1 while the machine is slow and not the process', () => {
  const { pace, pass } = open();
  pace.watch();
  pass(20, 100, 20);
  expect(pace.slowness()).toBe(1);
});

it('is doubled by each slow round up to 4, and 1 again a second after the last', () => {
  const { pace, pass } = open();
  pace.watch();
  const seen = [1, 2, 3, 4].map(() => {
    pass(1, 40);
    return pace.slowness();
  });
  expect(seen).toEqual([2, 4, 4, 4]);
  pace.watch();
  pass(50);
  expect(pace.slowness()).toBeGreaterThan(1);
  pace.watch();
  pass(60);
  expect(pace.slowness()).toBe(1);
});

it('is watched for a second, so that a process at rest does nothing', () => {
  const { pace, pass } = open();
  expect(vi.getTimerCount()).toBe(0);
  pace.watch();
  pace.watch();
  expect(vi.getTimerCount()).toBe(1);
  pass(3, 40);
  pass(110);
  expect([vi.getTimerCount(), pace.slowness()]).toEqual([0, 1]);
  pace.watch();
  expect(vi.getTimerCount()).toBe(1);
});
