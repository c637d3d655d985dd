// Ends the process of a test file that hangs before its first case: Vitest limits cases and hooks, and nothing that a
// file awaits while it is read.
import { beforeAll, expect } from 'vitest';
import { HANG } from './patience.ts';

let hanging: NodeJS.Timeout | undefined;

/** Begins the wait for the first case of a test file; the setup of each file calls it. */
export function limitReading(limit = 2 * HANG): void {
  clearTimeout(hanging);
  hanging = setTimeout(() => {
    process.stderr.write(`${expect.getState().testPath} hangs before its first case\n`);
    process.kill(process.pid, 'SIGKILL');
  }, limit).unref();
  beforeAll(() => clearTimeout(hanging));
}
