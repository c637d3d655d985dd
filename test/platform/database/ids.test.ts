// Ids of rows: well formed, ascending even within a millisecond, and never the same.
import { validate, version } from 'uuid';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { newId, timeIdsBy } from '../../../src/platform/database/ids.ts';

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

  const idsAfter = (steps: readonly number[]) =>
    steps.flatMap((step) => {
      vi.setSystemTime(Date.now() + step);
      return Array.from({ length: 1_000 }, newId);
    });

  it('ascend and differ, many within each millisecond', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ids = idsAfter([0, 0, 1, 0, 7_000]);
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('tell the time of the clock and differ after it went back', () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ids = idsAfter([0, -5_000, 5_000, -5_000]);
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids.slice(-1_000)) expect(timeOf(id)).toBe(Date.now());
  });

  it('tell the time of the clock that the process was given', () => {
    timeIdsBy(() => 1_800_000_000_000);
    const id = newId();
    timeIdsBy(() => Date.now());
    expect(timeOf(id)).toBe(1_800_000_000_000);
  });

  it('end in random bits of their own, also beyond one drawing', () => {
    const tails = Array.from({ length: 2_000 }, () => newId().slice(-11));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
