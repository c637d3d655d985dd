// The end of a log: the failed cases in few lines, and "N passed, N failed"; as Vitest's last reporter, that of `npm
// test`.
import { relative } from 'node:path';

const LISTED = 50;
const LINES = 3;
const WIDTH = 300;

/** @returns lines with the name of each failed case and the first lines of each of its errors, then the numbers */
export function conclude(passed, failed) {
  const cases = failed
    .slice(0, LISTED)
    .flatMap(({ name, errors }) => [`  ${name}`, ...errors.flatMap(firstLines)]);
  const more = failed.length > LISTED ? [`  and ${failed.length - LISTED} more`] : [];
  const list = failed.length > 0 ? ['Failed:', ...cases, ...more] : [];
  return `${[...list, `${passed} passed, ${failed.length} failed`].join('\n')}\n`;
}

/** @returns `file > title > title`, the file as seen from the clone */
export const nameCase = (file, ...titles) =>
  [relative(process.cwd(), file), ...titles].filter(Boolean).join(' > ');

function firstLines(error) {
  const lines = String(error)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with a control character.
    .replace(/\u001b\[[\d;]*m/g, '')
    .split('\n')
    .map((line) => line.trim().slice(0, WIDTH))
    .filter((line) => line !== '' && !line.startsWith('at '));
  return (lines.length > 0 ? lines : ['no message']).slice(0, LINES).map((line) => `      ${line}`);
}

export default class FailedCases {
  onTestRunEnd(modules, uncaught) {
    const messages = (errors) =>
      errors.flatMap(({ stack, message, cause }) => [
        stack || message,
        ...(cause === undefined ? [] : [`caused by ${cause.stack || cause.message}`]),
      ]);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const failed = tests
      .filter((test) => test.result().state === 'failed')
      .map((test) => ({
        name: `${nameCase(test.module.moduleId)} > ${test.fullName}`,
        errors: messages(test.result().errors),
      }));
    for (const module of modules) {
      const errors = [module, ...module.children.allSuites()].flatMap((suite) => suite.errors());
      if (errors.length > 0) failed.push({ name: nameCase(module.moduleId), errors: messages(errors) });
    }
    if (uncaught.length > 0) failed.push({ name: 'outside of the tests', errors: messages(uncaught) });
    process.stdout.write(
      `\n${conclude(tests.filter((test) => test.result().state === 'passed').length, failed)}`,
    );
  }
}
