// The type checker for Python, over the packages of packages/python, as a project that uses them would have it.
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { run } from '../standard-webhooks.mjs';

const VERSION = '2.4.1';
const PACKAGES = ['countersign-receiver', 'countersign-agent'];

export const judge = {
  name: 'mypy',
  version: `mypy ${VERSION}, --strict`,
  what: 'packages/python, strict',
  needs: ['python3'],
  run: async ({ say, folder }) => {
    await run('python3', ['-m', 'venv', folder]);
    const python = join(folder, 'bin', 'python');
    // A copy: pip builds in the folder that it installs from.
    const packages = PACKAGES.map((name) => join(folder, 'packages', name));
    for (const [index, place] of packages.entries())
      cpSync(resolve('packages', 'python', PACKAGES[index] ?? ''), place, { recursive: true });
    await run(python, ['-m', 'pip', 'install', '--quiet', `mypy==${VERSION}`, ...packages]);
    let passed = 0;
    for (const place of packages) {
      const { status, stdout } = spawnSync(python, ['-m', 'mypy', '--strict', join(place, 'src')], {
        encoding: 'utf8',
        cwd: folder,
      });
      say(stdout.trim());
      if (status === 0) passed += 1;
    }
    return { passed, failed: packages.length - passed, warnings: [] };
  },
};
