// `npm run demo`: makes the clone ready and shows the main job against the service that `npm start` runs.
import './require-node.mjs';

const { becomeBuilt, prepare } = await import('./prepare.mjs');
await prepare({ build: true });
await becomeBuilt('src/app/local/demo/demo.js');
