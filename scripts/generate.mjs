// `npm run openapi`, `npm run settings`: writes a file that is made from the sources. Tests fail while it is another.
import './require-node.mjs';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const { prepare, root } = await import('./prepare.mjs');

/** The files, and how each is made from the build. The environment has no part in it. */
const FILES = {
  openapi: {
    file: 'openapi.json',
    make: () =>
      execFileSync(process.execPath, [join(root, 'dist', 'src', 'main.js'), 'openapi'], {
        env: {},
        encoding: 'utf8',
        maxBuffer: 2 ** 26,
      }),
  },
  settings: {
    file: join('docs', 'settings.md'),
    make: async () => {
      const { describeSettings } = await import('#dist/src/platform/config-page.js');
      return describeSettings();
    },
  },
};

await prepare({ build: true });
const { file, make } = FILES[process.argv[2]];
writeFileSync(join(root, file), await make());
process.stdout.write(`Wrote ${file}.\n`);
