// Prints the failed cases and "N passed, N failed" of several runs; `npm run check`, and a run that left no cases, count
// as one each. Arguments: the exit code of the check, then the file of cases and the exit code of each run.
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { conclude } from './failed-cases.mjs';

const [checked, ...runs] = process.argv.slice(2);
const counts = [
  checked === '0' ? { passed: 1, failed: [] } : { passed: 0, failed: [ended('check', checked)] },
];
for (let at = 0; at < runs.length; at += 2) counts.push(count(runs[at], runs[at + 1]));
const passed = counts.reduce((sum, one) => sum + one.passed, 0);
const failed = counts.flatMap((one) => one.failed);
process.stdout.write(conclude(passed, failed));
process.exitCode = failed.length === 0 ? 0 : 1;

function count(file, exitCode) {
  const { passed, failed } = read(file);
  // Something went wrong outside of the tests, as a server that did not start.
  if (exitCode !== '0' && failed.length === 0) failed.push(ended(basename(file), exitCode));
  return { passed, failed };
}

function ended(script, exitCode) {
  return { name: `npm run ${script}`, errors: [`ended with exit code ${exitCode}; its output is above`] };
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: [] };
  }
}
