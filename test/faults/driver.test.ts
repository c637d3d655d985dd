// The short form of the fault driver: one seed, a few seconds of load. `npm run test:faults` is the long form.
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

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

it('finds no violation', async () => {
  const args = ['test/faults/driver.mjs', '--seed', String(SEED), '--minutes', '0.3333'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args).catch((error) => error);
  expect(stdout, stderr.slice(-2_000)).toMatch(/\| violations +\| 0\n/);
  expect(stdout).toMatch(/^\| stopped \|/m);
  expect(stdout).toMatch(/^\| build-1 \|/m);
});
