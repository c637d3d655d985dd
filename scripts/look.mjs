// One run of Vitest as numbers, and the second look: files with failed cases run once more, alone in one process.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { listCases } from './failed-cases.mjs';
import { root, run, runQuietly } from './prepare.mjs';

/** More files than this do not fail by the load of the machine. */
const MOST_FILES = 10;
const UNSTEADY = join(root, 'test', 'unsteady.json');

/**
 * @typedef {{ name: string, errors: string[], file?: string, project?: string }} Failed
 * @typedef {{ passed: number, failed: Failed[], files?: Record<string, number> }} Cases `files`: passed cases of each
 */

/** @param {string} file that CASES_FILE named @param {string} what ran @param {number} code its exit code */
export function readCases(file, what, code) {
  let cases = { passed: 0, failed: [] };
  try {
    cases = JSON.parse(readFileSync(file, 'utf8'));
  } catch {}
  // Something went wrong outside of the tests, as a server that did not start.
  if (code !== 0 && cases.failed.length === 0)
    cases.failed.push({ name: what, errors: [`ended with exit code ${code}; its output is above`] });
  return cases;
}

/** `npm run check` as one case. @returns {Promise<Cases>} */
export async function check() {
  const { code, said } = await runQuietly(process.execPath, ['scripts/check.mjs']);
  process.stdout.write(said);
  return code === 0
    ? { passed: 1, failed: [] }
    : { passed: 0, failed: [{ name: 'npm run check', errors: [`ended with exit code ${code}; see above`] }] };
}

/** @param {string[]} args of Vitest @param {NodeJS.ProcessEnv} [more] @returns {Promise<Cases>} */
export async function look(args, more = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cases-'));
  const file = join(folder, 'cases.json');
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...args];
  const code = await run(process.execPath, vitest, { ...process.env, ...more, CASES_FILE: file });
  const cases = readCases(file, `vitest ${args.join(' ')}`, code);
  rmSync(folder, { recursive: true, force: true });
  return cases;
}

/** The same with a second look. What it finds green is said, and written down. @param {string[]} args */
export async function lookTwice(args) {
  const first = await look(args);
  const files = filesToRepeat(first);
  if (files.length === 0) return first;
  const load = loadavg()[0]?.toFixed(1);
  process.stdout.write(`\nA second look, one file at a time: ${files.join(', ')}\n`);
  // The projects of the configuration have lanes of their own, which no argument of Vitest's reaches.
  const second = await look([...args, ...files], { VITEST_MAX_WORKERS: '1' });
  const { cases, unsteady } = compareLooks(first, second, files);
  if (unsteady.length === 0) return cases;
  process.stdout.write(`\nUnsteady, at a load of ${load}:\n${listCases(unsteady).join('\n')}\n`);
  if (!process.env.CI) writeDown(unsteady, load);
  return cases;
}

/** @param {Cases} first @returns {string[]} nothing where a second look cannot make the run green */
export function filesToRepeat({ failed }) {
  const files = [...new Set(failed.map(({ file }) => file))];
  const isRed = failed.some(({ file, project }) => !file || project === 'pure') || files.length > MOST_FILES;
  return isRed ? [] : files;
}

/**
 * A file that is red twice is red, by the cases of the second look.
 * @param {Cases} first @param {Cases} second @param {string[]} files that ran again
 * @returns `cases` of both, each counted once; `unsteady`: the failed cases of files that are green now
 */
export function compareLooks(first, second, files) {
  const before = files.reduce((sum, file) => sum + (first.files?.[file] ?? 0), 0);
  const red = new Set(second.failed.map(({ file }) => file));
  // What failed without a file, as a server that did not start, says nothing about any file.
  const isGreen = (/** @type {Failed} */ { file }) => !red.has(file) && !red.has(undefined);
  return {
    cases: { passed: first.passed - before + second.passed, failed: second.failed },
    unsteady: first.failed.filter(isGreen),
  };
}

/** A name keeps the date of its first time: three days there fail the check. */
function writeDown(unsteady, load) {
  const known = JSON.parse(readFileSync(UNSTEADY, 'utf8'));
  const date = new Date().toISOString().slice(0, 10);
  const fresh = unsteady
    .filter(({ name }) => !known.some((one) => one.name === name))
    .map(({ name, errors }) => ({ name, date, load, seed: /seed:? (-?\d+)/.exec(errors.join('\n'))?.[1] }));
  writeFileSync(UNSTEADY, `${JSON.stringify([...known, ...fresh], null, 2)}\n`);
}
