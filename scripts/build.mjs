// `npm run build`: the whole build into `dist`, in place only when all of it was made. Uses what is installed.
import './require-node.mjs';

const { build } = await import('./compile.mjs');
await build();
