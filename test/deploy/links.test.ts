// No program is silent when it is called through a link, as `current -> countersign-1.2` is one: a program that asks
// who called it follows links on both sides.
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

/** What runs without being compiled, wherever it lies. */
const programs = ['bench', 'deploy', 'examples', 'packages', 'scripts', 'src', 'test'].flatMap((root) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(mjs|cjs|js|ts)$/.test(name) && !/node_modules|dist\/|\.test\.ts$/.test(name))
    .map((name) => join(root, name)),
);
const read = (file: string) => readFileSync(file, 'utf8');

/** A comparison of the path that the program was called with, which nothing has led through `realpathSync`. */
const comparesCalled = (text: string) =>
  /process\.argv(\[1\]|\.at\(1\))[^;\n]*[!=]==|[!=]==?[^;\n]*process\.argv(\[1\]|\.at\(1\))|require\.main\b|import\.meta\.main\b/.test(
    text,
  );
/** It has a half that others import, and one that runs when it is the program. */
const hasTwoHalves = (text: string) => /^export /m.test(text) && /process\.argv\[1\]\s*[^\s=]/.test(text);

describe('a program', () => {
  it('does not compare the path that it was called with before links are followed', () => {
    for (const wrong of [
      "if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) run();",
      'if (process.argv[1] === SELF) serve();',
      'if (fileURLToPath(import.meta.url) == process.argv[1]) run();',
      'if (process.argv.at(1) !== SELF) return;',
      'if (require.main === module) run();',
    ])
      expect(comparesCalled(wrong), wrong).toBe(true);
    expect(comparesCalled('process.argv[1] = path;')).toBe(false);
    expect(programs.length).toBeGreaterThan(500);
    expect(programs.filter((file) => comparesCalled(read(file)))).toEqual([]);
  });

  it('with a half that others import is one of those that are called through links below', () =>
    expect(programs.filter((file) => hasTwoHalves(read(file)))).toEqual(['scripts/verify-release.mjs']));
});

/** Programs of a shell: what git has that begins with a line for one. */
const shells = spawnSync('git', ['ls-files'], { encoding: 'utf8' })
  .stdout.split('\n')
  .filter((file) => existsSync(file) && statSync(file).isFile())
  .filter((file) => /^#!.*\b(?:ba)?sh\b/.test(read(file).slice(0, 80)));
/** It finds its folder by the path that it was called with, which is that of a link. */
const asksOwnPath = (text: string) =>
  /\$\{?(?:0\b|BASH_SOURCE)/.test(text.replace(/\(realpath "\$0"\)/g, ''));

describe('a program of a shell', () => {
  it('does not take the folder of a link for its own', () => {
    for (const wrong of ['cd "$(dirname "$0")"', `cd "\${0%/*}"`, `. "$(dirname "\${BASH_SOURCE[0]}")/x"`])
      expect(asksOwnPath(wrong), wrong).toBe(true);
    expect(shells).toEqual(
      expect.arrayContaining(['.ci/run', 'deploy/backup/backup.sh', 'deploy/replace.sh']),
    );
    // In the text of `sh -c`, "$0" is the first word after it.
    const own = (file: string) => read(file).replace(/-euc '[^']*'/g, '');
    expect(shells.filter((file) => asksOwnPath(own(file)))).toEqual([]);
  });

  it.each([
    ['deploy/backup/backup.sh', '.'],
    ['deploy/replace.sh', 'api'],
  ])('%s works in the folder of its project, whichever link calls it', (file, word) => {
    const place = temporaryFolder();
    symlinkSync(resolve('.'), join(place, 'current'));
    symlinkSync(resolve(file), join(place, 'program'));
    symlinkSync('program', join(place, 'of-a-link'));
    writeFileSync(join(place, 'docker'), '#!/bin/sh\npwd -P >&2\nexit 1\n', { mode: 0o755 });
    const env = { ...process.env, PATH: `${place}:${process.env.PATH}` };
    for (const way of [resolve(file), join(place, 'current', file), './program', './of-a-link']) {
      const { stderr } = spawnSync(way, [word], { cwd: place, env, encoding: 'utf8' });
      expect(stderr.split('\n')[0], way).toBe(realpathSync('.'));
    }
  });
});

/** Puts a program of `scripts` into a folder, with links that lead to it. @returns the place of all */
function makeLinks(place: string, name: string): string {
  mkdirSync(join(place, 'countersign-1.2'));
  const file = join(place, 'countersign-1.2', name);
  writeFileSync(file, read(`scripts/${name}`));
  symlinkSync('countersign-1.2', join(place, 'current'));
  symlinkSync('current', join(place, 'of-a-link'));
  symlinkSync(file, join(place, 'program.mjs'));
  return place;
}

/** The words after `node` that call the program. */
const waysTo = (place: string, name: string): Record<string, string[]> => ({
  'by its path': [join(place, 'countersign-1.2', name)],
  'by a folder that is a link': [join(place, 'current', name)],
  'by a link to a link': [join(place, 'of-a-link', name)],
  'by a file that is a link': [join(place, 'program.mjs')],
  'by a link that stays the place of the module': [
    ...['--preserve-symlinks', '--preserve-symlinks-main'],
    join(place, 'current', name),
  ],
});
const WAYS = Object.keys(waysTo('', ''));

describe('a forged release is refused when the verifier is called', () => {
  it.each(WAYS)('%s', (way) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'countersign-0.2.0.tgz'), 'forged');
    const statement = '{"payloadType":"x","payload":"","signatures":[]}';
    writeFileSync(join(folder, 'provenance.dsse.json'), statement);
    const place = temporaryFolder();
    const key = join(place, 'key.pub');
    writeFileSync(key, generateKeyPairSync('ed25519').publicKey.export({ format: 'pem', type: 'spki' }));
    const words = waysTo(makeLinks(place, 'verify-release.mjs'), 'verify-release.mjs')[way] ?? [];
    const { status, stderr } = spawnSync(process.execPath, [...words, folder, key], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([1, 'provenance.dsse.json: is not signed by this key\n']);
  });

  it('and importing it runs nothing, whichever the first argument is', () => {
    const importing = `await import(${JSON.stringify(resolve('scripts/verify-release.mjs'))})`;
    for (const argument of ['none', temporaryFolder()])
      expect(
        spawnSync(process.execPath, ['--input-type=module', '-e', importing, argument], { encoding: 'utf8' }),
      ).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });
});
