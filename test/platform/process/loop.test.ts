// When a loop runs, waits and stops, on timers that move only when a test moves them.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLoop } from '../../../src/platform/process/loop.ts';

/** A run that ends when the test says so. */
function createRuns() {
  const state = { begun: 0, underWay: 0 };
  let settle: { resolve: (value: number) => void; reject: (error: unknown) => void } | undefined;
  const run = (signal: AbortSignal): Promise<number> => {
    state.begun += 1;
    state.underWay += 1;
    expect(state.underWay).toBe(1);
    return new Promise<number>((resolve, reject) => {
      settle = { resolve, reject };
      signal.addEventListener('abort', () => reject(signal.reason));
    }).finally(() => {
      state.underWay -= 1;
    });
  };
  const flush = () => vi.advanceTimersByTimeAsync(0);
  return {
    state,
    run,
    end: async (value = 0): Promise<void> => {
      settle?.resolve(value);
      await flush();
    },
    fail: async (error: unknown): Promise<void> => {
      settle?.reject(error);
      await flush();
    },
  };
}

describe('a loop', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('runs when it starts, and again so long after the end of each run', async () => {
    const { state, run, end } = createRuns();
    const loop = createLoop({ run, next: 100, onFailure: vi.fn() });
    expect(state.begun).toBe(0);
    loop.start();
    expect(state.begun).toBe(1);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(state.begun).toBe(1);
    await end();
    await vi.advanceTimersByTimeAsync(99);
    expect(state.begun).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.begun).toBe(2);
  });

  it('waits before its first run when it is told to', async () => {
    const { state, run } = createRuns();
    createLoop({ run, first: 50, next: 100, onFailure: vi.fn() }).start();
    await vi.advanceTimersByTimeAsync(49);
    expect(state.begun).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(state.begun).toBe(1);
  });

  it('waits by the result of the run, and not at all for 0', async () => {
    const { state, run, end } = createRuns();
    createLoop({ run, next: (result = 0) => result, onFailure: vi.fn() }).start();
    await end(0);
    expect(state.begun).toBe(2);
    await end(10);
    expect(state.begun).toBe(2);
    await vi.advanceTimersByTimeAsync(10);
    expect(state.begun).toBe(3);
  });

  it('goes on after a failure, which it hands out', async () => {
    const { state, run, fail } = createRuns();
    const onFailure = vi.fn();
    const error = new Error('down');
    createLoop({ run, next: (result) => (result === undefined ? 10 : 100), onFailure }).start();
    await fail(error);
    expect(onFailure.mock.calls).toEqual([[error]]);
    await vi.advanceTimersByTimeAsync(10);
    expect(state.begun).toBe(2);
  });

  it('is woken from its wait', async () => {
    const { state, run, end } = createRuns();
    const loop = createLoop({ run, next: 100, onFailure: vi.fn() });
    loop.start();
    await end();
    loop.wake();
    await vi.advanceTimersByTimeAsync(0);
    expect(state.begun).toBe(2);
    await end();
    await vi.advanceTimersByTimeAsync(99);
    expect(state.begun).toBe(2);
  });

  it('runs once more, and immediately, however often it was woken during a run', async () => {
    const { state, run, end } = createRuns();
    const loop = createLoop({ run, next: 100, onFailure: vi.fn() });
    loop.start();
    loop.wake();
    loop.wake();
    await end();
    expect(state.begun).toBe(2);
    await end();
    expect(state.begun).toBe(2);
  });

  it('stops from its wait without another run, and leaves no timer', async () => {
    const { state, run, end } = createRuns();
    const running = createLoop({ run, next: 100, onFailure: vi.fn() }).start();
    await end();
    await running.stop();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(state.begun).toBe(1);
  });

  it('stops after the run that is under way, and does not count what the stop ended as a failure', async () => {
    const { state, run } = createRuns();
    const onFailure = vi.fn();
    const running = createLoop({ run, next: 100, onFailure }).start();
    await running.stop();
    expect(state).toEqual({ begun: 1, underWay: 0 });
    expect(onFailure).not.toHaveBeenCalled();
  });

  it('waits at its stop for a run that does not watch the signal', async () => {
    let release = (): void => undefined;
    const run = () =>
      new Promise<void>((resolve) => {
        release = resolve;
      });
    const running = createLoop({ run, next: 0, onFailure: vi.fn() }).start();
    const stopped = vi.fn();
    const stop = running.stop().then(stopped);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stopped).not.toHaveBeenCalled();
    release();
    await stop;
  });
});
