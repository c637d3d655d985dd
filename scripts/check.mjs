// `npm run check`: format and lint, types, and the tests that judge sources and pages; each, also when one fails.
import './require-node.mjs';

const { prepare, runQuietly } = await import('./prepare.mjs');
await prepare({ build: false });
const CHECKS = [
  ['format and lint', '@biomejs/biome/bin/biome', 'check', '.'],
  ['types', 'typescript/bin/tsc'],
  ['types of the console', 'typescript/bin/tsc', '-p', 'src/console'],
  ['types of the programs', 'typescript/bin/tsc', '-b', 'tsconfig.programs.json'],
  ['sources and pages', 'vitest/vitest.mjs', 'run', '--project', 'sources', '--reporter', 'dot'],
];
const results = await Promise.all(
  CHECKS.map(async ([name, program, ...args]) => {
    const began = performance.now();
    const { code, said } = await runQuietly(process.execPath, [`node_modules/${program}`, ...args]);
    if (code !== 0) process.stdout.write(said);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    return { code, line: `${code === 0 ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)\n` };
  }),
);
for (const { line } of results) process.stdout.write(line);
process.exitCode = results.every(({ code }) => code === 0) ? 0 : 1;
