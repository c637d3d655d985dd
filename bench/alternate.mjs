// Runs one scenario of two clones in turn, so that both meet the same machine, and compares their figures.
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { spread } from './figures.mjs';

const run = promisify(execFile);

/**
 * @param folders of two clones; each runs its own `bench/bench.mjs`, which builds what is not built
 * @param words scenario and options, as on the command line
 * @param rounds runs of each
 * @returns for each figure its name, the values of both in the order of the runs, their medians, and the ratio of the
 *   second to the first
 */
export async function alternate(folders, words, rounds) {
  const runs = folders.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [n, folder] of folders.entries()) runs[n].push(await measure(resolve(folder), words));
  return compareRuns(runs);
}

/** @param runs of two sides, each a list of figures */
export function compareRuns(runs) {
  const [before, after] = runs.map(spread);
  return Object.keys(before)
    .filter((name) => name in after)
    .map((name) => {
      const sides = [before[name], after[name]];
      const medians = sides.map((side) => side.median);
      return { name, values: sides.map((side) => side.values), medians, ratio: medians[1] / medians[0] };
    });
}

async function measure(folder, words) {
  const { stdout } = await run(process.execPath, [join(folder, 'bench/bench.mjs'), ...words, '--json'], {
    cwd: folder,
    maxBuffer: 16 * 1024 * 1024,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}');
}
