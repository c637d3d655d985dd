import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { obtainTemporal } from '../../../src/app/local/temporal-program.ts';
import { temporaryFolder } from './temporary-folder.ts';

const version = (server: string) =>
  `#!/bin/sh\necho "temporal version 1.5.1 (Server ${server}, UI 2.42.1)"\n`;
const WORKS = version('1.29.1');
const BROKEN = '#!/bin/sh\nexit 126\n';
const OTHER = '#!/bin/sh\necho "temporal (a calendar) 3"\n';
/** Builds what `go install` would, into GOBIN. */
const GO = `#!/bin/sh\n[ "$1 $2" = "install github.com/temporalio/cli/cmd/temporal@v1.5.1" ] || exit 9\nprintf '%s' '${WORKS}' > "$GOBIN/temporal"\n`;

function program(folder: string, name: string, content: string): string {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, name);
  writeFileSync(file, content);
  chmodSync(file, 0o755);
  return file;
}

/** A search that cannot reach any download. */
function search() {
  const folder = temporaryFolder();
  const said: string[] = [];
  const [binFolder, onPath] = [join(folder, 'bin'), join(folder, 'path')];
  const run = () =>
    obtainTemporal({ binFolder, path: `${onPath}:/bin`, say: (line) => said.push(line), reach: 1 });
  return { binFolder, onPath, said, run };
}

describe('where the program temporal comes from', () => {
  it('is the PATH, before anything that was kept', async () => {
    const { binFolder, onPath, said, run } = search();
    program(binFolder, 'temporal', WORKS);
    const file = program(onPath, 'temporal', WORKS);
    expect(await run()).toBe(file);
    expect(said).toEqual([`Temporal: ${file} with server 1.29.1, found on the PATH.`]);
  });

  it.each(['1.9.4', '1.29.0', '0.31.0'])(
    'is not a program with server %s, and a line says why',
    async (server) => {
      const { binFolder, onPath, said, run } = search();
      const old = program(onPath, 'temporal', version(server));
      const kept = program(binFolder, 'temporal', version('1.29.2'));
      expect(await run()).toBe(kept);
      const reason = 'found on the PATH, is passed over: it must be 1.29.1 or newer';
      expect(said[0]).toBe(`Temporal: ${old} with server ${server}, ${reason}.`);
    },
  );

  it.each([
    ['does not run', BROKEN],
    ['is another program of that name', OTHER],
  ])('is the data folder, when the one on the PATH %s', async (_, content) => {
    const { binFolder, onPath, said, run } = search();
    program(onPath, 'temporal', content);
    const kept = program(binFolder, 'temporal', WORKS);
    expect(await run()).toBe(kept);
    expect(said).toEqual([`Temporal: ${kept} with server 1.29.1, kept from an earlier start.`]);
  });

  it('is a build with Go, when there is nothing else; it is kept, and nothing else is left', async () => {
    const { binFolder, onPath, said, run } = search();
    program(onPath, 'go', GO);
    expect(await run()).toBe(join(binFolder, 'temporal'));
    expect(said.at(-1)).toBe(`Temporal: built with Go as ${join(binFolder, 'temporal')}.`);
    expect(readdirSync(binFolder)).toEqual(['temporal']);
    expect(await run()).toBe(join(binFolder, 'temporal'));
    expect(said.at(-1)).toContain('with server 1.29.1, kept from an earlier start');
  });

  it('is nowhere: one line says what to install', async () => {
    const { binFolder, onPath, run } = search();
    program(onPath, 'go', BROKEN);
    await expect(run()).rejects.toThrow(/^No Temporal server: install .* or set TEMPORAL_ADDRESS/);
    expect(readdirSync(binFolder)).toEqual([]);
  });
});
