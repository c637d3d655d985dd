// What the tests of processes need, made beside the check and gently: the build, and the program of Temporal's server.
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { prepare, root } from './prepare.mjs';

setPriority(10);
await prepare({ build: true });
const { obtainTemporal } = await import('#dist/src/app/local/temporal-program.js');
const say = (line) => process.stdout.write(`${line}\n`);
await obtainTemporal({ binFolder: join(root, '.data', 'bin'), path: process.env.PATH ?? '', say });
