// `npm test`: makes the clone ready and becomes Vitest, with all arguments passed on. Long runs only where a project is
// named.
import './require-node.mjs';

const { become, prepare } = await import('./prepare.mjs');
await prepare({ build: true });
const isNamed = process.argv.some((argument) => argument.startsWith('--project'));
process.argv.splice(2, 0, 'run', ...(isNamed ? [] : ['--project=!long']));
await become('node_modules/vitest/vitest.mjs');
