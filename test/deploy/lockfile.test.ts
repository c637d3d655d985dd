// package-lock.json: what is installed is what was meant, byte for byte.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

type Entry = {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
};

const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Entry>;
};
/** The packages of this repository, and the links to them; they are not fetched. */
const isOwn = (path: string) => /^(packages\/|node_modules\/@countersign\/)[\w-]+$/.test(path);
const entries = Object.entries(packages).filter(([path]) => path !== '' && !isOwn(path));

it('has a hash of every package, also for other platforms', () => {
  expect(entries.length).toBeGreaterThan(300);
  for (const [path, { integrity, link }] of entries) {
    expect(link, path).toBeUndefined();
    expect(integrity, path).toMatch(/^sha512-[\w+/]{86}==$/);
  }
});

it('links the packages of this repository, and no other folder', () => {
  const own = Object.entries(packages).filter(([path]) => isOwn(path));
  const links = own.filter(([, { link }]) => link === true).map(([, { resolved }]) => resolved);
  expect(links).toEqual(
    readdirSync('packages')
      .map((name) => `packages/${name}`)
      .filter((folder) => existsSync(`${folder}/package.json`)),
  );
  expect(own.length).toBe(2 * links.length);
});

it('names no place that packages are fetched from but the registry of the one who installs', () => {
  for (const [path, { resolved = '' }] of entries) expect(resolved, path).toBe('');
});
