// `npm run judges -- [name…]`: has software that nobody here wrote judge what this service does. A judge is
// test/judges/<name>/judge.mjs.
import './require-node.mjs';
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const { prepare, root } = await import('./prepare.mjs');
const place = join(root, 'test', 'judges');
const known = (existsSync(place) ? readdirSync(place) : []).filter((name) =>
  existsSync(join(place, name, 'judge.mjs')),
);
const names = process.argv.slice(2);
const unknown = names.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`There is no judge ${unknown.join(', ')}. There are: ${known.join(', ')}.\n`);
  process.exit(2);
}
await prepare({ build: true });
const results = [];
for (const name of names.length > 0 ? names : known) results.push(await hear(name));
process.stdout.write(`\n${tableOf(results)}\n`);
for (const { name, warnings } of results)
  for (const warning of warnings) process.stdout.write(`${name}: ${warning}\n`);
process.exitCode = results.some(({ failed }) => failed > 0) ? 1 : 0;

/** Runs one judge in a temporary folder of its own. A judge that throws has failed, and its error is a warning. */
async function hear(name) {
  const { judge } = await import(pathToFileURL(join(place, name, 'judge.mjs')).href);
  const result = {
    name: judge.name,
    version: judge.version,
    what: judge.what,
    passed: 0,
    failed: 0,
    warnings: [],
    seconds: 0,
  };
  const absent = judge.needs.filter((need) => !isThere(need));
  if (absent.length > 0) return { ...result, notRun: `not run: no ${absent.join(', ')}` };
  const folder = mkdtempSync(join(tmpdir(), `judge-${name}-`));
  const say = (line) => process.stdout.write(`${name}: ${line}\n`);
  const began = performance.now();
  try {
    Object.assign(result, await judge.run({ say, folder }));
    // A judge that looked at nothing has not agreed to anything.
    if (result.passed + result.failed === 0)
      Object.assign(result, { failed: 1, warnings: ['judged nothing'] });
  } catch (error) {
    result.failed += 1;
    result.warnings.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  result.seconds = (performance.now() - began) / 1_000;
  return result;
}

/** A need is a program on the PATH or, with `$` before its name, a variable of the environment. */
function isThere(need) {
  if (need.startsWith('$')) return Boolean(process.env[need.slice(1)]);
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, need), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function tableOf(rows) {
  const heads = ['judge', 'version', 'what ran', 'passed', 'failed', 'warnings', 'seconds'];
  const lines = rows.map(({ name, version, what, passed, failed, warnings, seconds, notRun }) => [
    name,
    version,
    what,
    ...(notRun === undefined ? [passed, failed, warnings.length, seconds.toFixed(1)] : [notRun, '', '', '']),
  ]);
  return [heads, heads.map(() => '---'), ...lines].map((line) => `| ${line.join(' | ')} |`).join('\n');
}
