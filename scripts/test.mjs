// `npm test`: makes the clone ready and becomes Vitest, with all arguments passed on.
import './require-node.mjs';

const { become, prepare } = await import('./prepare.mjs');
await prepare({ build: true });
process.argv.splice(2, 0, 'run');
await become('node_modules/vitest/vitest.mjs');
