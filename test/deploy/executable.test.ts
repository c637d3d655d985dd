// The command `countersign` as the build leaves it; `npm test` builds before it runs this.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('can be executed by its file after every build, not only once npx has linked it', () => {
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: { countersign: string } };
  const { status, stdout, error } = spawnSync(`./${bin.countersign}`, ['--help'], { encoding: 'utf8' });
  expect(error).toBeUndefined();
  expect(status).toBe(0);
  expect(stdout).toContain('Usage: countersign');
});
