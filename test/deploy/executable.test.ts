// The command `countersign` as the build leaves it; `npm test` builds before it runs this.
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findReferencePages, listGuides } from '../../src/app/pages/built-pages.ts';
import { loadedBy, packagesOf } from '../app/terminal/loaded-modules.ts';

it('can be executed by its file after every build, not only once npx has linked it', () => {
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: { countersign: string } };
  const { status, stdout, error } = spawnSync(`./${bin.countersign}`, ['--help'], { encoding: 'utf8' });
  expect(error).toBeUndefined();
  expect(status).toBe(0);
  expect(stdout).toContain('Usage: countersign');
});

it('answers through a link to its file, and through one to its folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-link-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(process.cwd(), 'dist/src/main.js'), join(folder, 'countersign'));
  symlinkSync(process.cwd(), join(folder, 'current'));
  for (const way of ['countersign', 'current/dist/src/main.js'])
    expect(spawnSync(join(folder, way), ['--help'], { encoding: 'utf8' }).stdout, way).toContain(
      'Usage: countersign',
    );
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

/** A file of the program, and those that it loads, now or later. */
function reachedFrom(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file) || !existsSync(file)) return [...seen];
  seen.add(file);
  for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/"\.{1,2}\/(?:program\/)?([^"/]+\.js)"/g))
    reachedFrom(join('dist/program', name), seen);
  return [...seen];
}

describe('its program', () => {
  const entry = 'dist/src/main.js';
  const read = (file: string) => `\n${readFileSync(file, 'utf8')}`;
  // Files of the build before lie beside them.
  const files = reachedFrom(entry);
  const fileOf = (module: string) => files.find((file) => read(file).includes(`\n// ${module}\n`)) ?? 'none';

  it('has no module but the entry among those of the compiler', () => {
    expect(loadedBy(files).filter((file) => file.startsWith('dist/') && !files.includes(file))).toEqual([]);
  });

  it('loads no more than its sources: the parser for --help, and no client of Temporal for the API', () => {
    expect(packagesOf([entry])).toEqual(['commander']);
    const heavy = /^(?:sequelize|pino-pretty|@temporalio\/(?!envconfig))/;
    const api = packagesOf(['src/app/roles.js', 'src/app/api.js'].map(fileOf));
    expect(api).toContain('koa');
    expect(api.filter((name) => heavy.test(name))).toEqual([]);
  });

  it('keeps the files of the last build, which a process that runs goes on loading, and of no other', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-program-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const write = (path: string, hoursAgo: number) => {
      const file = join(folder, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, path);
      utimesSync(file, new Date(), new Date(Date.now() - hoursAgo * 3_600_000));
    };
    for (const path of ['last/src/main.js', 'last/program/a-1.js', 'last/program/b-1.js']) write(path, 1);
    write('last/program/a-0.js', 2);
    for (const path of ['next/src/main.js', 'next/program/a-2.js', 'next/program/b-1.js']) write(path, 0);
    const { keepLastProgram } = (await import(join(process.cwd(), 'scripts/program.mjs'))) as {
      keepLastProgram: (last: string, next: string) => void;
    };
    keepLastProgram(join(folder, 'last'), join(folder, 'next'));
    expect(readdirSync(join(folder, 'next/program')).sort()).toEqual(['a-1.js', 'a-2.js', 'b-1.js']);
    expect(readFileSync(join(folder, 'next/program/b-1.js'), 'utf8')).toBe('next/program/b-1.js');
  });

  it('finds what lies beside a module at the place of that module', () => {
    let found = 0;
    for (const text of files.map(read)) {
      const places = [...text.matchAll(/new URL\("\.\.\/([^"]+)", import\.meta\.url\)\.href/g)];
      // Any other use would say where the file of the program lies.
      expect(text.split('import.meta')).toHaveLength(places.length + 1);
      for (const { index, 1: place = '' } of places) {
        expect(
          text
            .slice(0, index)
            .split(/\n\/\/ (src\/.+)\n/)
            .at(-2),
        ).toBe(place);
        expect(existsSync(join('dist', place)), place).toBe(true);
      }
      found += places.length;
    }
    expect(found).toBeGreaterThan(8);
  });

  it('leads from a line of the program to the line of the source', () => {
    for (const [module, text] of [
      ['src/app/command-line', 'async function reportFailure('],
      ['src/platform/version', 'function versionOf('],
      ['src/app/api', 'async function runApi('],
    ] as const) {
      const file = fileOf(`${module}.js`);
      const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')));
      const line = read(file)
        .split('\n')
        .findIndex((each) => each.startsWith(text));
      const found = map.findEntry(line - 1, 0) as { originalSource: string; originalLine: number };
      expect(found.originalSource).toBe(`../../${module}.ts`);
      expect(readFileSync(`${module}.ts`, 'utf8').split('\n')[found.originalLine]).toContain(text);
    }
  });
});
