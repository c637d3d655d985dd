// The official library for Python, from PyPI.
import { join } from 'node:path';
import { captureDeliveries, judgeByProgram, run, writeLines } from '../standard-webhooks.mjs';

const VERSION = '1.1.0';

export const judge = {
  name: 'Standard Webhooks, Python',
  version: `standardwebhooks ${VERSION}`,
  what: 'v1 of each delivery, over a rotation of the secret under load',
  needs: ['python3'],
  run: async ({ say, folder }) => {
    await run('python3', ['-m', 'venv', folder]);
    const python = join(folder, 'bin', 'python');
    await run(python, ['-m', 'pip', 'install', '--quiet', `standardwebhooks==${VERSION}`]);
    const { lines } = await captureDeliveries(say);
    const program = join(import.meta.dirname, 'verify.py');
    return judgeByProgram(python, [program, writeLines(folder, lines)]);
  },
};
