// `npm run test:interleavings -- --seeds 10000`: so many schedules of concurrent statements, shared among the
// scenarios. `--seed 42` replays the schedules of one seed and prints them; `-t deliveries` is for one scenario.
import './require-node.mjs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: 'string' },
    seed: { type: 'string' },
    first: { type: 'string' },
    t: { type: 'string', short: 't' },
  },
  allowPositionals: true,
});
const SCENARIOS = 5;

const { become, prepare } = await import('./prepare.mjs');
await prepare({ build: false });
if (values.seed !== undefined) process.env.INTERLEAVING_SEED = values.seed;
else {
  const each = Math.ceil(Number(values.seeds ?? 1_000) / (values.t === undefined ? SCENARIOS : 1));
  process.env.INTERLEAVING_SEEDS = String(each);
  process.env.INTERLEAVING_FIRST = values.first ?? '0';
}
const one = values.t === undefined ? [] : ['-t', values.t];
process.argv.splice(2, process.argv.length, 'run', '--project=database', ...one, ...positionals);
process.argv.push('test/interleavings/interleavings.test.ts');
await become('node_modules/vitest/vitest.mjs');
