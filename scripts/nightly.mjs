// `npm run nightly`: what takes longer by nature, one step after the other, and one table of it with commit and date in
// docs/nightly.md. Hours; a name repeats one step: `npm run nightly -- fuzz`.
import './require-node.mjs';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { prepare, root, run } = await import('./prepare.mjs');
const STEPS = [
  ['faults', 'test/faults/driver.mjs', '--minutes', '30'],
  ['planted', 'test/faults/driver.mjs', '--planted'],
  ['interleavings', 'scripts/interleavings.mjs', '--seeds', '10000'],
  ['fuzz', 'scripts/fuzz.mjs', '--seconds', '60'],
  ['judges', 'scripts/judges.mjs'],
  ['node', 'scripts/test-node.mjs', '22', '24'],
];
const names = process.argv.slice(2);
const unknown = names.filter((name) => !STEPS.some(([known]) => known === name));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no step ${unknown.join(', ')}. There are: ${STEPS.map(([name]) => name).join(', ')}.\n`,
  );
  process.exit(2);
}
await prepare({ build: true });
const commit = git('rev-parse', '--short=8', 'HEAD');
if (git('status', '--porcelain', '--', '.', ':!docs/nightly.md') !== '') {
  process.stderr.write('The table names a commit: commit your changes first.\n');
  process.exit(2);
}
const rows = [];
for (const [name, file, ...args] of STEPS.filter(([name]) => names.length === 0 || names.includes(name))) {
  const began = performance.now();
  const code = await run(process.execPath, [join(root, file), ...args]);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  rows.push([
    name,
    `\`node ${[file, ...args].join(' ')}\``,
    code === 0 ? 'passed' : `failed (${code})`,
    minutes,
  ]);
}
const table = [['step', 'command', 'result', 'minutes'], ['---', '---', '---', '---:'], ...rows]
  .map((row) => `| ${row.join(' | ')} |`)
  .join('\n');
process.stdout.write(`\n${table}\n`);
if (names.length === 0) writeFileSync(join(root, 'docs', 'nightly.md'), describe());
process.exitCode = rows.every(([, , result]) => result === 'passed') ? 0 : 1;

function git(...args) {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
}

function describe() {
  const date = new Date().toISOString().slice(0, 10);
  return `# The last night\n\nWritten by \`npm run nightly\`: commit ${commit}, ${date}, Node ${process.versions.node}.\n\n${table}\n`;
}
