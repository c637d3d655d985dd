// Runs with each test file: the next file of the same process finds no spy, no fake clock, no stub and no error of this
// one.
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterAll, afterEach, vi } from 'vitest';
import { timeIdsBy } from '../../src/platform/database/ids.ts';
import { limitReading } from './hanging-file.ts';
import { beginFile } from './logged-errors.ts';

limitReading();
const errors = beginFile();

// By itself fast-check makes ten steps at most, whatever a property allows.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

afterEach(errors.judge);

// Hooks of setup files run last.
afterAll(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  // A file may have opened a database, whose clock nothing tells the time any more.
  timeIdsBy(() => Date.now());
  // A rejection that nobody handles is reported a turn later, to the file that runs then.
  await turn();
  errors.judge();
});
