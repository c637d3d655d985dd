// `npm run nightly`: what takes longer by nature, one step after the other. Each step that ends writes its row of
// docs/nightly.md, with commit and date. Hours; names choose steps: `npm run nightly -- fuzz judges`.
import './require-node.mjs';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { prepare, root, run } = await import('./prepare.mjs');
const STEPS = [
  ['faults', 'test/faults/driver.mjs', '--minutes', '30'],
  ['planted', 'test/faults/driver.mjs', '--planted'],
  ['interleavings', 'scripts/interleavings.mjs', '--seeds', '10000'],
  ['fuzz', 'scripts/fuzz.mjs', '--seconds', '60'],
  ['judges', 'scripts/judges.mjs'],
  ['two-builds', 'scripts/two-builds.mjs'],
  ['deployment', 'test/deploy/driver.mjs'],
  ['node-22', 'scripts/test-node.mjs', '22'],
  ['node-24', 'scripts/test-node.mjs', '24'],
];
/** The code of a step that could not run on this machine, which is neither a success nor a failure. */
const NOT_RUN = 77;
const PAGE = join(root, 'docs', 'nightly.md');
const HEAD = `# The last night

Written by \`npm run nightly\`, a row for each step: when it ran last, and on which commit.

| step | command | result | minutes | commit | date |
|---|---|---|---|---|---|
`;

const names = process.argv.slice(2);
const unknown = names.filter((name) => !STEPS.some(([known]) => known === name));
if (unknown.length > 0)
  refuse(`There is no step ${unknown.join(', ')}. There are: ${STEPS.map(([name]) => name).join(', ')}.`);
if (git('status', '--porcelain', '--', '.', ':!docs/nightly.md') !== '')
  refuse('A row names a commit: commit your changes first.');
await prepare({ build: true });
const commit = git('rev-parse', '--short=8', 'HEAD');
for (const [name, file, ...args] of STEPS.filter(([name]) => names.length === 0 || names.includes(name))) {
  const began = performance.now();
  const code = await run(process.execPath, [join(root, file), ...args]);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const date = new Date().toISOString().slice(0, 10);
  const result = code === 0 ? 'passed' : code === NOT_RUN ? 'not run' : `failed (${code})`;
  record(name, [name, `\`node ${[file, ...args].join(' ')}\``, result, minutes, commit, date]);
  if (![0, NOT_RUN].includes(code)) process.exitCode = 1;
}
process.stdout.write(`\n${readFileSync(PAGE, 'utf8')}`);

/** Puts the row of a step where it belongs, and leaves the rows of the others. */
function record(name, cells) {
  const lines = existsSync(PAGE) ? readFileSync(PAGE, 'utf8').split('\n') : [];
  const rows = STEPS.flatMap(([step]) =>
    step === name ? `| ${cells.join(' | ')} |` : lines.filter((line) => line.startsWith(`| ${step} |`)),
  );
  writeFileSync(PAGE, `${HEAD}${rows.join('\n')}\n`);
}

function git(...args) {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
}

function refuse(reason) {
  process.stderr.write(`${reason}\n`);
  process.exit(2);
}
