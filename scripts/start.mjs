// `npm start`: makes the clone ready and becomes `countersign start`, in this same process, so that signals and the
// parent are npm's.
import './require-node.mjs';
import './require-ports.mjs';

const { becomeBuilt, prepare } = await import('./prepare.mjs');
await prepare({ build: true });
process.argv.splice(2, 0, 'start');
await becomeBuilt('src/main.js');
