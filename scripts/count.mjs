// Prints "N passed, N failed" from Vitest's JSON report; `npm run check`, and a test run without a report, count as one each.
import { readFileSync } from 'node:fs';

const [file, checked, tested] = process.argv.slice(2);
const report = (() => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { testResults: [] };
  }
})();
const tests = report.testResults.flatMap((suite) => suite.assertionResults);
const unloaded = report.testResults.filter(
  (suite) => suite.status === 'failed' && !suite.assertionResults.some(({ status }) => status === 'failed'),
);
const passed = tests.filter(({ status }) => status === 'passed').length + (checked === '0' ? 1 : 0);
let failed =
  tests.filter(({ status }) => status === 'failed').length + unloaded.length + (checked === '0' ? 0 : 1);
// Something went wrong outside of the tests: a server that did not start, an error that nobody caught.
if (tested !== '0' && failed === (checked === '0' ? 0 : 1)) failed += 1;
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
