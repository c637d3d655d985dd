// Every package as npm publishes it: the judges of packages accept the tarball, and the main entry reaches nothing of
// Node.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';
import { packPackages } from './packed-package.ts';

const NAMES = readdirSync('packages')
  .filter((name) => existsSync(join('packages', name, 'package.json')))
  .sort();

let folder: string;
let tarballs: Map<string, Buffer>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'countersign-packed-'));
  const packed = await packPackages(
    NAMES.map((name) => join('packages', name)),
    folder,
  );
  const read = packed.map(
    async ({ name, filename }) => [name, await readFile(join(folder, filename))] as const,
  );
  tarballs = new Map(await Promise.all(read));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const tarballOf = (name: string) => {
  const found = tarballs.get(`@countersign/${name}`);
  if (found === undefined) throw new Error(`@countersign/${name} was not packed`);
  return found;
};

describe.each(NAMES)('@countersign/%s', (name) => {
  const manifest = JSON.parse(readFileSync(join('packages', name, 'package.json'), 'utf8')) as {
    license: string;
    version: string;
    exports: Record<string, string | { types: string; default: string }>;
    dependencies?: Record<string, string>;
  };
  const service = JSON.parse(readFileSync('package.json', 'utf8')) as typeof manifest;

  it('is accepted by publint', async () => {
    const data = tarballOf(name);
    const tarball = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer;
    const { messages, pkg } = await publint({ pack: { tarball } });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  it('has types that every resolver of modules finds, as arethetypeswrong judges', async () => {
    const result = await checkPackage(createPackageFromTarballData(new Uint8Array(tarballOf(name))));
    if (result.types === false) throw new Error('no types were found');
    // The packages are ESM only: the oldest resolver knows no exports, and require() of ESM needs today's Node.
    const known = result.problems.filter(
      (problem) =>
        !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
    );
    expect(known).toEqual([]);
  });

  it('has the licence and the version of the service', () => {
    expect([manifest.license, manifest.version]).toEqual([service.license, service.version]);
  });

  it('reaches no module of Node from its main entry, and no package but its dependencies', () => {
    const main = manifest.exports['.'];
    if (typeof main !== 'object') throw new Error('there is no main entry');
    const entry = join('packages', name, main.default);
    const { files, outside } = reach(entry);
    expect(files.length).toBeGreaterThan(1);
    const packages = outside.map((specifier) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0]);
    const allowed = Object.keys(manifest.dependencies ?? {});
    expect(packages.filter((one) => one === undefined || !allowed.includes(one))).toEqual([]);
  });
});

/** Follows the relative imports of a built module, and lists those that lead out of the package. */
function reach(entry: string): { files: string[]; outside: string[] } {
  const files = new Set<string>();
  const outside: string[] = [];
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    if (!existsSync(file)) throw new Error(`${relative('.', file)} is missing`);
    files.add(file);
    for (const specifier of importsOf(readFileSync(file, 'utf8'))) {
      if (specifier.startsWith('.')) waiting.push(join(dirname(file), specifier));
      else outside.push(specifier);
    }
  }
  return { files: [...files], outside };
}

function importsOf(text: string): string[] {
  const found: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { type, source } = value as { type?: string; source?: { value?: unknown } | null };
    if (/^(Import|Export)/.test(type ?? '') && source) found.push(String(source.value));
    for (const child of Object.values(value)) walk(child);
  };
  walk(parseAst(text, { lang: 'js' }));
  return found;
}
