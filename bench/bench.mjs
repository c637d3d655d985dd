// `npm run bench -- <scenario>`: measures the service beside a floor in the same run. Without a scenario it prints what
// there is.
import '../scripts/require-node.mjs';
import { readFileSync, writeFileSync } from 'node:fs';
import { prepare } from '../scripts/prepare.mjs';
import { HELP, NAMES, readOptions, readWords, refuse } from './options.mjs';

const { names, given } = readWords();
const [name, file] = names;
if (name === undefined || given.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
if (name === 'compare') await compare(names.slice(1, 3), names.slice(3));
else if (NAMES.includes(name)) await measure();
else refuse(`${name} is none of ${NAMES.join(', ')}, compare.`);

async function measure() {
  const options = readOptions(name, given);
  await prepare({ build: true });
  const { SCENARIOS } = await import('./scenarios.mjs');
  const { measureAll } = await import('./all.mjs');
  const describe = await import('./describe.mjs');
  const { spread } = await import('./figures.mjs');
  const scenario = SCENARIOS[name] ?? { measure: measureAll };
  const figures = [];
  for (let run = 0; run < options.runs; run += 1) figures.push(await scenario.measure(options));
  const isOne = options.runs === 1 && scenario.describe !== undefined;
  const text = isOne
    ? scenario.describe(figures[0], options)
    : describe.runs(`${name}, ${options.runs} run(s): median (least–most)`, spread(figures));
  const reports = figures.map((one) => scenario.report?.(one) ?? {});
  if (reports.some(hasFailed)) process.exitCode = 1;
  else if (name === 'guard' && !process.env.CI) (await import('./guarded.mjs')).recordGuard();
  say(
    text,
    options.runs === 1 ? { ...figures[0], ...reports[0] } : { runs: figures, figures: spread(figures) },
  );
}

function hasFailed({ failed = [] }) {
  return failed.length > 0;
}

/** Figures for programs go to the file, or alone to the terminal. */
function say(text, figures) {
  if (!given.json || file !== undefined) process.stdout.write(`${text}\n`);
  if (!given.json) return;
  if (file === undefined) process.stdout.write(`${JSON.stringify(figures)}\n`);
  else writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

/** Passes on what was said, but for `--rounds`, which counts the runs of each clone here. */
async function compare(sides, words) {
  const isOfFiles = sides.every((side) => side.endsWith('.json'));
  if (sides.length < 2 || (words.length === 0 && !isOfFiles))
    refuse('Say which: compare <folder> <folder> <scenario> [options], or compare <file> <file>.');
  const { alternate, compareRuns } = await import('./alternate.mjs');
  const { comparison } = await import('./describe.mjs');
  const { rounds = '2', json, ...passed } = given;
  const options = Object.entries(passed).flatMap(([option, value]) => [`--${option}`, value]);
  const rows = isOfFiles
    ? compareRuns(sides.map(readRuns))
    : await alternate(
        sides,
        [...words, '--rounds', '1', ...options],
        readOptions(words[0], { rounds }).rounds,
      );
  process.stdout.write(`${json ? JSON.stringify(rows) : comparison(rows)}\n`);
}

function readRuns(path) {
  const figures = JSON.parse(readFileSync(path, 'utf8'));
  return figures.runs ?? [figures];
}
