// The official library for Go, from the module proxy.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { captureDeliveries, judgeByProgram, run, writeLines } from '../standard-webhooks.mjs';

const MODULE = 'github.com/standard-webhooks/standard-webhooks/libraries';
const VERSION = 'v0.0.1';

export const judge = {
  name: 'Standard Webhooks, Go',
  version: VERSION,
  what: 'v1 of each delivery, over a rotation of the secret under load',
  needs: ['go'],
  run: async ({ say, folder }) => {
    copyFileSync(join(import.meta.dirname, 'main.go'), join(folder, 'main.go'));
    await run('go', ['mod', 'init', 'judge'], { cwd: folder });
    await run('go', ['get', `${MODULE}@${VERSION}`], { cwd: folder });
    await run('go', ['build', '-o', 'judge', '.'], { cwd: folder });
    const { lines } = await captureDeliveries(say);
    return judgeByProgram(join(folder, 'judge'), [writeLines(folder, lines)]);
  },
};
