// `npm run demo`: makes the clone ready and becomes the demo, which is written as a user's programs are.
import './require-node.mjs';

const { become, prepare } = await import('./prepare.mjs');
await prepare({ build: true });
await become('examples/demo/demo.mjs');
