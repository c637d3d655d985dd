// The estimate of a tenant's backlog.
import { describe, expect, it, vi } from 'vitest';
import { createBacklogGauge } from '../../src/events/backlog.service.ts';

function createGauge(limit: number) {
  let now = 0;
  const state = { unfinished: 0 };
  const count = vi.fn(async (_tenant: string, _atMost: number) => state.unfinished);
  const gauge = createBacklogGauge({ count, limit, clock: () => now });
  return {
    gauge,
    count,
    state,
    wait: async (milliseconds: number) => {
      await vi.waitFor(() => undefined);
      now += milliseconds;
    },
    settle: () => new Promise((resolve) => setImmediate(resolve)),
  };
}

describe('the backlog gauge', () => {
  it('refuses with Retry-After once this process has accepted the limit', () => {
    const { gauge } = createGauge(10);
    gauge.check('a');
    gauge.add('a', 10);
    expect(() => gauge.check('a')).toThrow(
      expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 1 }),
    );
    expect(() => gauge.check('b')).not.toThrow();
  });

  it('lets a tenant in again when a later count says so', async () => {
    const { gauge, state, wait, settle } = createGauge(10);
    state.unfinished = 10;
    gauge.check('a');
    await settle();
    expect(() => gauge.check('a')).toThrow();
    state.unfinished = 3;
    await wait(1_001);
    expect(() => gauge.check('a')).toThrow();
    await settle();
    expect(() => gauge.check('a')).not.toThrow();
  });

  it('counts a quiet tenant every 10 s only, and a busy one each second at most', async () => {
    const { gauge, count, wait, settle } = createGauge(1_000);
    for (let second = 0; second < 10; second += 1) {
      gauge.check('quiet');
      await settle();
      await wait(999);
    }
    expect(count).toHaveBeenCalledTimes(1);
    count.mockClear();
    for (let step = 0; step < 10; step += 1) {
      gauge.check('busy');
      gauge.add('busy', 200 / 10);
      await settle();
      await wait(100);
    }
    await wait(100);
    gauge.check('busy');
    await settle();
    expect(count).toHaveBeenCalledTimes(2);
  });

  it('keeps its last count when counting fails', async () => {
    const { gauge, count, state, wait, settle } = createGauge(10);
    state.unfinished = 11;
    gauge.check('a');
    await settle();
    count.mockRejectedValue(new Error('down'));
    await wait(20_000);
    expect(() => gauge.check('a')).toThrow();
    await settle();
    expect(() => gauge.check('a')).toThrow();
  });

  it('asks for no more rows than decide', () => {
    const { gauge, count } = createGauge(10);
    gauge.check('a');
    expect(count).toHaveBeenCalledWith('a', 11);
  });
});
