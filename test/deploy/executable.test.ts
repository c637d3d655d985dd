// The command `countersign` as the build leaves it; `npm test` builds before it runs this.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { findReferencePages, listGuides } from '../../src/app/pages/built-pages.ts';

it('can be executed by its file after every build, not only once npx has linked it', () => {
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: { countersign: string } };
  const { status, stdout, error } = spawnSync(`./${bin.countersign}`, ['--help'], { encoding: 'utf8' });
  expect(error).toBeUndefined();
  expect(status).toBe(0);
  expect(stdout).toContain('Usage: countersign');
});

it('comes with the guides and the API reference, for each tenant that it serves', () => {
  const folder = 'dist/reference';
  const find = findReferencePages(folder);
  const tenant = { baseUrl: 'https://id.example', issuerUrl: 'https://id.example', name: 'Acme' };
  expect(listGuides(folder).length).toBeGreaterThan(12);
  for (const { name } of listGuides(folder))
    expect(find({ path: `/docs/guides/${name}`, tenant, accept: undefined })?.type, name).toContain(
      'markdown',
    );
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] };
  expect(files).toContain('dist');
});
