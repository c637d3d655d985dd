// `npm test`: makes the clone ready and runs Vitest, with all arguments passed on. Without files it leaves out most of the
// processes and what is costly, and looks twice at what failed.
import './require-node.mjs';

/** Vitest runs every project that one of these lets through, so two that leave one out each would leave none out. */
const PROJECTS = ['pure', 'database', 'temporal', 'smoke'].map((name) => `--project=${name}`);

const { become, prepare } = await import('./prepare.mjs');
await prepare({ build: false });
const args = process.argv.slice(2);
if (args.some((word) => word.startsWith('test/') || word.startsWith('--project'))) {
  process.argv.splice(2, 0, 'run');
  await become('node_modules/vitest/vitest.mjs');
} else {
  const { conclude } = await import('./failed-cases.mjs');
  const { lookTwice } = await import('./look.mjs');
  const { passed, failed } = await lookTwice([...PROJECTS, ...args]);
  process.stdout.write(`\n${conclude(passed, failed)}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
}
