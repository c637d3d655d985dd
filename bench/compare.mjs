// Runs one scenario of two clones in turn, so that both meet the same machine, and compares their figures.
import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * @param folders of two clones; each runs its own `bench/bench.mjs`, which builds what is not built
 * @param words scenario and options, as on the command line
 * @param rounds runs of each
 * @returns for each figure its name, the values of both in the order of the runs, their medians, and the ratio of the
 *   second to the first
 */
export async function compare(folders, words, rounds) {
  const runs = folders.map(() => []);
  for (let round = 0; round < rounds; round += 1)
    for (const [n, folder] of folders.entries()) runs[n].push(flatten(await measure(resolve(folder), words)));
  const all = runs.flat();
  return Object.keys(all[0])
    .filter((name) => all.every((figures) => name in figures))
    .map((name) => {
      const values = runs.map((side) => side.map((figures) => figures[name]));
      const medians = values.map(median);
      return { name, values, medians, ratio: medians[1] / medians[0] };
    });
}

async function measure(folder, words) {
  const { stdout } = await run(process.execPath, [join(folder, 'bench/bench.mjs'), ...words, '--json'], {
    cwd: folder,
    maxBuffer: 16 * 1024 * 1024,
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}');
}

/** The numbers of a run by name, those of nested objects with a dot. */
function flatten(object, prefix = '') {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => {
      if (typeof value === 'object' && value !== null)
        return Object.entries(flatten(value, `${prefix}${name}.`));
      return Number.isFinite(value) ? [[`${prefix}${name}`, value]] : [];
    }),
  );
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
