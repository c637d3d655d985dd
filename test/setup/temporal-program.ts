// The program of Temporal's server for tests that start one of their own.
import { resolve } from 'node:path';
import { obtainTemporal } from '../../src/app/local/temporal-program.ts';

/** @returns its path; as a rule the run has it already, so nothing is said */
export const obtainTestTemporal = (): Promise<string> =>
  obtainTemporal({ binFolder: resolve('.data', 'bin'), path: process.env.PATH ?? '', say: () => undefined });
