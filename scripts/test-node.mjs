// `npm run test:node -- 22 24 [files…]`: the tests on other versions of Node. npm's packages of Node bring the
// programs, into `.data/node`.
import './require-node.mjs';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const { prepare, root, run } = await import('./prepare.mjs');
const args = process.argv.slice(2);
const isVersion = (argument) => /^\d+(\.\d+){0,2}$/.test(argument);
const versions = args.filter(isVersion);
const others = args.filter((argument) => !isVersion(argument));
if (versions.length === 0) {
  process.stderr.write('Name the versions: npm run test:node -- 22 24 [arguments of npm test]\n');
  process.exit(2);
}
await prepare({ build: true });
const failed = [];
for (const version of versions) {
  const folder = await obtain(version);
  process.stdout.write(`Node ${version}:\n`);
  // Processes that tests start find the same Node on the PATH.
  const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH ?? ''}` };
  const codes = [];
  // Without arguments also what `npm test` leaves to `.ci/run`, but for the processes.
  for (const words of others.length > 0 ? [others] : [[], ['--project=costly']])
    codes.push(await run(join(folder, 'node'), [join(root, 'scripts', 'test.mjs'), ...words], env));
  if (codes.some((code) => code !== 0)) failed.push(version);
}
process.stdout.write(failed.length === 0 ? 'All passed.\n' : `Failed on Node ${failed.join(', ')}.\n`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @returns the folder of the program `node` of the newest release of a version */
async function obtain(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const place = join(root, '.data', 'node', version);
  const folder = join(place, 'node_modules', name, 'bin');
  if (existsSync(join(folder, 'node'))) return folder;
  mkdirSync(place, { recursive: true });
  const options = [
    '--prefix',
    place,
    '--no-save',
    '--no-audit',
    '--no-fund',
    '--ignore-scripts',
    '--loglevel=error',
  ];
  const code = await run('npm', ['install', ...options, `${name}@${version}`]);
  if (code === 0 && existsSync(join(folder, 'node'))) return folder;
  rmSync(place, { recursive: true, force: true });
  process.stderr.write(`npm has no ${name}@${version}.\n`);
  process.exit(1);
}
