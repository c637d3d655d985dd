// `npm test`: makes the clone ready and becomes Vitest, with all arguments passed on. Where no files are named, most of
// the processes are left out.
import './require-node.mjs';

const { become, prepare } = await import('./prepare.mjs');
await prepare({ build: false });
const isNamed = process.argv
  .slice(2)
  .some((word) => word.startsWith('test/') || word.startsWith('--project'));
process.argv.splice(2, 0, 'run', ...(isNamed ? [] : ['--project=!processes', '--project=!sources']));
await become('node_modules/vitest/vitest.mjs');
