// Runs with each test file: the next file of the same process finds no spy, no fake clock and no stub of this one.
import { afterAll, vi } from 'vitest';

afterAll(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});
