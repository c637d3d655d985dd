// Prints "N passed, N failed" from Vitest's JSON reports; `npm run check`, and a test run without a report, count as one each.
// Arguments: the exit code of the check, then the report and the exit code of each run.
import { readFileSync } from 'node:fs';

const [checked, ...runs] = process.argv.slice(2);
const counts = [{ passed: checked === '0' ? 1 : 0, failed: checked === '0' ? 0 : 1 }];
for (let at = 0; at < runs.length; at += 2) counts.push(count(runs[at], runs[at + 1]));
const [passed, failed] = ['passed', 'failed'].map((kind) => counts.reduce((sum, one) => sum + one[kind], 0));
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;

function count(file, exitCode) {
  const { testResults } = read(file);
  const tests = testResults.flatMap((suite) => suite.assertionResults);
  const unloaded = testResults.filter(
    (suite) => suite.status === 'failed' && !suite.assertionResults.some(({ status }) => status === 'failed'),
  );
  const failures = tests.filter(({ status }) => status === 'failed').length + unloaded.length;
  return {
    passed: tests.filter(({ status }) => status === 'passed').length,
    // Something went wrong outside of the tests: a server that did not start, an error that nobody caught.
    failed: exitCode !== '0' && failures === 0 ? 1 : failures,
  };
}

function read(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { testResults: [] };
  }
}
