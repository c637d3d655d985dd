// Ids of rows: well formed, ascending even within a millisecond, and never the same.
import { validate, version } from 'uuid';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';

afterEach(() => vi.useRealTimers());

const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

describe('new ids', () => {
  it('are UUIDs of version 7 that tell the time', () => {
    const before = Date.now();
    const id = newId();
    expect(validate(id) && version(id)).toBe(7);
    expect(timeOf(id)).toBeGreaterThanOrEqual(before);
    expect(timeOf(id)).toBeLessThanOrEqual(Date.now());
  });

  it('ascend and differ, many within each millisecond, and when the clock goes back', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ids = [0, 0, 1, -5_000, 0, 7_000].flatMap((step) => {
      vi.setSystemTime(Date.now() + step);
      return Array.from({ length: 1_000 }, newId);
    });
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('end in random bits of their own, also beyond one drawing', () => {
    const tails = Array.from({ length: 2_000 }, () => newId().slice(-11));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
