// `npm run bench -- <scenario>`: measures the service beside a floor in the same run. Without a scenario it prints what
// there is.
import '../scripts/require-node.mjs';
import { writeFileSync } from 'node:fs';
import { prepare } from '../scripts/prepare.mjs';
import { HELP, NAMES, readOptions, readWords, refuse } from './options.mjs';

const { names, given } = readWords();
const [name, file] = names;
if (name === undefined || given.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (name === 'compare') await compareClones(names.slice(1, 3), names.slice(3));
else if (NAMES.includes(name)) await measure();
else refuse(`${name} is none of ${NAMES.join(', ')}, compare.`);

async function measure() {
  const options = readOptions(given);
  await prepare({ build: true });
  const { SCENARIOS } = await import('./scenarios.mjs');
  const { measure: measureScenario, describe, report } = SCENARIOS[name];
  const figures = await measureScenario(options);
  const reported = report?.(figures) ?? { failed: [] };
  if (reported.failed.length > 0) process.exitCode = 1;
  else if (name === 'guard' && !process.env.CI) (await import('./guarded.mjs')).recordGuard();
  say(describe(figures, options), { ...figures, ...(report && reported) });
}

/** Figures for programs go to the file, or alone to the terminal. */
function say(text, figures) {
  if (!given.json || file !== undefined) process.stdout.write(`${text}\n`);
  if (!given.json) return;
  if (file === undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
  else writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

/** Passes on what was said, but for `--rounds`, which counts the runs of each clone here. */
async function compareClones(folders, words) {
  if (folders.length < 2 || words.length === 0)
    refuse('Say which: compare <folder> <folder> <scenario> [options].');
  const { compare } = await import('./compare.mjs');
  const { comparison } = await import('./describe.mjs');
  const { rounds = '2', json, ...passed } = given;
  const options = Object.entries(passed).flatMap(([option, value]) =>
    value === true ? [`--${option}`] : [`--${option}`, value],
  );
  const rows = await compare(
    folders,
    [...words, '--rounds', '1', ...options],
    readOptions({ rounds }).rounds,
  );
  process.stdout.write(`${json ? JSON.stringify(rows) : comparison(rows)}\n`);
}
