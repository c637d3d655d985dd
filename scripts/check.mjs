// `npm run check`: format and lint, types, and the tests that judge sources and pages; each, also when one fails.
import './require-node.mjs';

const { prepare, run } = await import('./prepare.mjs');
await prepare({ build: false });
const checks = [
  ['format and lint', 'node_modules/@biomejs/biome/bin/biome', ['check', '.']],
  ['types', 'node_modules/typescript/bin/tsc', []],
  ['types of the console', 'node_modules/typescript/bin/tsc', ['-p', 'src/console']],
  [
    'sources and pages',
    'node_modules/vitest/vitest.mjs',
    ['run', '--project', 'sources', '--reporter', 'dot'],
  ],
];
const results = [];
for (const [name, program, args] of checks) {
  const began = performance.now();
  const code = await run(process.execPath, [program, ...args]);
  results.push({ name, ok: code === 0, seconds: ((performance.now() - began) / 1_000).toFixed(1) });
}
for (const { name, ok, seconds } of results)
  process.stdout.write(`${ok ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)\n`);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
