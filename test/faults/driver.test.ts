// The short form of the fault driver: one seed, a few seconds of load. `npm run test:faults` is the long form.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { HANG } from '../setup/patience.ts';

const { KINDS, planFaults }: { KINDS: object; planFaults(options: object): { kind: string }[] } =
  await import(resolve('test/faults/driver/schedule.mjs'));

/** Its schedule promotes a standby, and upgrades the workers. */
const SEED = 3013;

it('has the same schedule for a seed every time, with every kind of fault in a long one', () => {
  const plan = (seed: number) => planFaults({ seed, seconds: 600 });
  expect(plan(SEED)).toEqual(plan(SEED));
  expect(plan(SEED)).not.toEqual(plan(SEED + 1));
  expect(new Set(plan(SEED).map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)));
});

/** Its own patience, for the load and for what has not ended, comes after a start and before a replay. */
const TIMEOUT = 4 * HANG;

it('finds no violation', { timeout: TIMEOUT + HANG }, async () => {
  const args = ['test/faults/driver.mjs', '--seed', String(SEED), '--minutes', '0.3333'];
  const running = promisify(execFile)(process.execPath, args, { timeout: TIMEOUT });
  const { stdout, stderr } = await running.catch((error) => error);
  const progress = stderr.match(/^\d\d:\d\d:\d\d .*$/gm)?.slice(-40);
  expect(stdout, progress?.join('\n')).toMatch(/\| violations +\| 0\n/);
  expect(stdout).toMatch(/^\| stopped \|/m);
  expect(stdout).toMatch(/^\| build-1 \|/m);
});
