// The end of a log: the failed cases in few lines, and "N passed, N failed". As Vitest's last reporter it ends `npm
// test`, and writes the cases to the file that CASES_FILE names.
import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';

const LISTED = 50;
const LINES = 3;
const WIDTH = 300;
/** Places of an uncaught error: its message alone seldom says where it began. */
const PLACES = 6;

/** @returns lines with the name of each failed case and the first lines of each of its errors, then the numbers */
export function conclude(passed, failed) {
  const list = failed.length > 0 ? ['Failed:', ...listCases(failed)] : [];
  return `${[...list, `${passed} passed, ${failed.length} failed`].join('\n')}\n`;
}

/** @returns the lines of failed cases, without the numbers */
export function listCases(failed) {
  const cases = failed
    .slice(0, LISTED)
    .flatMap(({ name, errors }) => [`  ${name}`, ...errors.flatMap(firstLines)]);
  const more = failed.length > LISTED ? [`  and ${failed.length - LISTED} more`] : [];
  return [...cases, ...more];
}

/** `file > title > title`, the file as seen from the clone. */
const nameCase = (file, ...titles) => [seen(file), ...titles].filter(Boolean).join(' > ');

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
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const passed = tests.filter((test) => test.result().state === 'passed').length;
    const failed = [
      ...tests.filter((test) => test.result().state === 'failed').map(describeTest),
      ...modules.flatMap(describeModule),
      ...uncaught.map(describeUncaught),
    ];
    const { CASES_FILE } = process.env;
    if (CASES_FILE) writeFileSync(CASES_FILE, JSON.stringify({ passed, failed, files: countFiles(modules) }));
    process.stdout.write(`\n${conclude(passed, failed)}`);
  }
}

const seen = (file) => relative(process.cwd(), file);

/** @returns the passed cases of each file */
const countFiles = (modules) =>
  Object.fromEntries(
    modules.map((module) => [seen(module.moduleId), [...module.children.allTests('passed')].length]),
  );

const describeTest = (test) => ({
  name: nameCase(test.module.moduleId, test.fullName),
  file: seen(test.module.moduleId),
  project: test.project.name,
  errors: messages(test.result().errors),
});

function describeModule(module) {
  const errors = [module, ...module.children.allSuites()].flatMap((suite) => suite.errors());
  const [name, file, project] = [nameCase(module.moduleId), seen(module.moduleId), module.project.name];
  return errors.length > 0 ? [{ name, file, project, errors: messages(errors) }] : [];
}

/** An error that no test caught; Vitest adds the file and the test that ran meanwhile. */
function describeUncaught(error) {
  const { VITEST_TEST_PATH: file = '', VITEST_TEST_NAME: title, type = 'Error', stack = '' } = error;
  const places = stack.split('\n').filter((line) => line.trim().startsWith('at '));
  return {
    name: `${nameCase(file, title)} (or outside of the tests): ${type}`,
    ...(file && { file: seen(file) }),
    errors: [
      ...messages([error]),
      ...places.slice(0, PLACES).map((line) => line.replace(/^\s*at /, 'from ')),
    ],
  };
}

const messages = (errors) =>
  errors.flatMap(({ stack, message, cause }) => [
    stack || message,
    ...(cause === undefined ? [] : [`caused by ${cause.stack || cause.message}`]),
  ]);
