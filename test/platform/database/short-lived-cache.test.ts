// How long the short-lived cache serves what it has read, on a clock of its own.
import { describe, expect, it } from 'vitest';
import { createShortLivedCache } from '../../../src/platform/database/short-lived-cache.ts';

function create(
  options: {
    limit?: number;
    keep?: (value: number | undefined) => boolean;
    stale?: { most: number; patience: number };
  } = {},
) {
  const state = { clock: 0, loads: [] as string[], failing: false, hanging: false };
  const cache = createShortLivedCache<number | undefined>({
    load: async (key) => {
      state.loads.push(key);
      if (state.failing) throw new Error('down');
      if (state.hanging) await new Promise(() => undefined);
      return key === 'nobody' ? undefined : state.loads.length;
    },
    lifetime: 100,
    limit: options.limit ?? 10,
    keep: options.keep,
    stale: options.stale,
    now: () => state.clock,
  });
  return { state, cache };
}

describe('a short-lived cache', () => {
  it('reads once for all who ask within the lifetime, and again afterwards', async () => {
    const { state, cache } = create();
    expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual([1, 1]);
    state.clock = 99;
    expect(await cache.get('a')).toBe(1);
    state.clock = 100;
    expect(await cache.get('a')).toBe(2);
    expect(await cache.get('a', 0)).toBe(3);
    cache.forget('a');
    expect(await cache.get('a')).toBe(4);
  });

  it('keeps no failure, and nothing that it is told not to keep', async () => {
    const { state, cache } = create({ keep: (value) => value !== undefined });
    state.failing = true;
    await expect(cache.get('a')).rejects.toThrow('down');
    state.failing = false;
    expect(await cache.get('a')).toBe(2);
    expect(await cache.get('nobody')).toBeUndefined();
    await cache.get('nobody');
    expect(state.loads).toEqual(['a', 'a', 'nobody', 'nobody']);
  });

  it('serves what it knows while it cannot be read, until that is too old', async () => {
    const { state, cache } = create({ stale: { most: 1_000, patience: 60_000 } });
    expect(await cache.get('a')).toBe(1);
    state.failing = true;
    state.clock = 100;
    expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual([1, 1]);
    state.clock = 199;
    expect(await cache.get('a')).toBe(1);
    // One read in a lifetime, and of what was never read the error.
    expect(state.loads).toHaveLength(2);
    await expect(cache.get('b')).rejects.toThrow('down');
    state.clock = 1_000;
    await expect(cache.get('a')).rejects.toThrow('down');
    state.failing = false;
    expect(await cache.get('a')).toBe(state.loads.length);
  });

  it('serves what it knows when the read takes long, and the new value after it', async () => {
    const { state, cache } = create({ stale: { most: 1_000, patience: 1 } });
    expect(await cache.get('a')).toBe(1);
    state.hanging = true;
    state.clock = 100;
    expect(await cache.get('a')).toBe(1);
    state.hanging = false;
    state.clock = 200;
    expect(await cache.get('a', 0)).toBe(3);
    expect(await cache.get('a')).toBe(3);
  });

  it('forgets what it could serve stale', async () => {
    const { state, cache } = create({ stale: { most: 1_000, patience: 1 } });
    await cache.get('a');
    cache.forget('a');
    state.failing = true;
    await expect(cache.get('a')).rejects.toThrow('down');
  });

  it('never holds more than its limit', async () => {
    const { state, cache } = create({ limit: 2 });
    for (const key of ['a', 'b', 'c', 'b', 'c', 'a']) await cache.get(key);
    expect(state.loads).toEqual(['a', 'b', 'c', 'a']);
  });
});
