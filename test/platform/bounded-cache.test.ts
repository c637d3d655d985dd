// What a bounded cache forgets, and when.
import { describe, expect, it } from 'vitest';
import { createBoundedCache } from '../../src/platform/bounded-cache.ts';

describe('a bounded cache', () => {
  it('forgets what was used longest ago', () => {
    const cache = createBoundedCache<string>({ limit: 2 });
    const loads: string[] = [];
    const get = (key: string) =>
      cache.get(key, () => {
        loads.push(key);
        return key.toUpperCase();
      });
    expect(['a', 'b', 'a', 'c', 'a', 'b'].map(get)).toEqual(['A', 'B', 'A', 'C', 'A', 'B']);
    expect(loads).toEqual(['a', 'b', 'c', 'b']);
    expect(cache.size()).toBe(2);
  });

  it('keeps nothing when loading fails', () => {
    const cache = createBoundedCache<string>({ limit: 2 });
    expect(() =>
      cache.get('a', () => {
        throw new Error('not now');
      }),
    ).toThrow('not now');
    expect(cache.size()).toBe(0);
    expect(cache.get('a', () => 'later')).toBe('later');
  });
});
