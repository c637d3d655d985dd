// The version that a process says, with the commit that the Dockerfile leaves beside the code.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { VERSION, versionOf } from '../../src/platform/version.ts';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

it.each([
  ['0a1b2c3d4e5f60718293a4b5c6d7e8f901234567\n', `${VERSION}+0a1b2c3d4e5f`],
  ['', VERSION],
])('has what a file of %j names', (text, version) => {
  const file = join(temporaryFolder(), 'revision');
  expect(versionOf(pathToFileURL(file))).toBe(VERSION);
  writeFileSync(file, text);
  expect(versionOf(pathToFileURL(file))).toBe(version);
});

it('reads the file that the Dockerfile writes, and has none here', () => {
  expect(VERSION).not.toContain('+');
  const [, place = ''] =
    /^RUN printf '%s' "\$REVISION" > (\S+)$/m.exec(readFileSync('Dockerfile', 'utf8')) ?? [];
  // The build puts src/platform/version.ts at dist/src/platform/version.js.
  const [, named = ''] =
    /new URL\('([^']+)', import\.meta\.url\)/.exec(readFileSync('src/platform/version.ts', 'utf8')) ?? [];
  expect(resolve('dist/src/platform', named)).toBe(resolve(place));
});
