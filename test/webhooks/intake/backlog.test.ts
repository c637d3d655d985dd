// The estimate of a tenant's backlog.
import { describe, expect, it, vi } from 'vitest';
import { BacklogGauge } from '../../../src/webhooks/intake/backlog.service.ts';
import { PATIENCE } from '../../setup/patience.ts';

function createGauge(limit: number) {
  let now = 0;
  const state = { unfinished: 0 };
  const count = vi.fn(async (_tenant: string, _atMost: number) => state.unfinished);
  const gauge = new BacklogGauge({ count, limit, clock: () => now });
  return {
    gauge,
    count,
    state,
    wait: async (milliseconds: number) => {
      await vi.waitFor(() => undefined, PATIENCE);
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

  it.each([
    ['nothing of', 0, 300],
    ['less than a hundredth of', 9, 300],
    ['a hundredth of', 10, 10],
    ['less than a tenth of', 99, 10],
    ['a tenth of', 100, 1],
    ['all of', 1_000, 1],
  ])('counts again when %s the free room was used (%i of 1,000) after %i s', async (_, used, seconds) => {
    const { gauge, count, wait, settle } = createGauge(1_000);
    const check = () => {
      try {
        gauge.check('a');
      } catch {}
    };
    check();
    await settle();
    gauge.add('a', used);
    await wait(seconds * 1_000 - 1);
    check();
    expect(count).toHaveBeenCalledTimes(1);
    await wait(1);
    check();
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
