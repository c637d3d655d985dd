// `npm run test:fuzz -- [--target X] [--seconds N] [--seed N] [--keep]`: fuzzes the parsers, each for N seconds (10).
import './require-node.mjs';
import { parseArgs } from 'node:util';

const { prepare, run } = await import('./prepare.mjs');
const text = /** @type {const} */ ({ type: 'string' });
const { values } = parseArgs({
  options: { target: text, seconds: text, seed: text, keep: { type: 'boolean' } },
});
await prepare({ build: false });
const given = Object.entries({ seconds: '10', ...values }).map(([name, value]) => [
  `FUZZ_${name.toUpperCase()}`,
  String(value),
]);
process.exitCode = await run(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--project', 'fuzz'],
  { ...process.env, ...Object.fromEntries(given) },
);
