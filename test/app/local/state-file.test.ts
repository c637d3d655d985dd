import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePrivateFile } from '../../../src/app/local/private-file.ts';
import { createStateFiles } from '../../../src/app/local/state-file.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Two files in one folder, and ways to make writing them impossible and possible again. */
function files() {
  const folder = temporaryFolder();
  const said: string[] = [];
  const { open } = createStateFiles({ folder, say: (line) => said.push(line), pause: 20 });
  const [first, second] = [open(join(folder, 'first')), open(join(folder, 'second'))];
  const next = (file: string) => `${file}.${process.pid}`;
  return {
    ...{ folder, said, first, second },
    fill: (file: string) => symlinkSync('/dev/full', next(file)),
    block: (file: string) => mkdirSync(next(file)),
    unblock: (file: string) => rmSync(next(file), { recursive: true }),
  };
}

const content = (file: string) => readFileSync(file, 'utf8');

describe('a file with the state of now', () => {
  it.skipIf(!existsSync('/dev/full'))(
    'is written later when the disk is full, and nothing is left cut off',
    async () => {
      const { first, said, fill, folder } = files();
      first.write('old');
      fill(first.file);
      first.write('new');
      expect(content(first.file)).toBe('old');
      expect(readdirSync(folder)).toEqual(['first']);
      expect(said).toEqual([
        `The disk is full: free some space for ${folder}, or set DATA_DIR to a folder on another disk. What runs goes on, and ${first.file} is written as soon as that is possible.`,
      ]);
      await expect.poll(() => content(first.file)).toBe('new');
      expect(said.slice(1)).toEqual([`${first.file} is written again.`]);
    },
  );

  it('says once that files cannot be written, however many there are and however often they change', async () => {
    const { first, second, said, block, unblock } = files();
    for (const { file } of [first, second]) block(file);
    for (const state of ['1', '2', '3']) for (const file of [first, second]) file.write(state);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(said).toHaveLength(1);
    unblock(first.file);
    await expect.poll(() => existsSync(first.file)).toBe(true);
    expect(said).toHaveLength(1);
    unblock(second.file);
    await expect.poll(() => said.length).toBe(2);
    expect([content(first.file), content(second.file)]).toEqual(['3', '3']);
  });

  it('does not come back once it was taken away', async () => {
    const { first, block, unblock, folder } = files();
    block(first.file);
    first.write('state');
    unblock(first.file);
    first.remove();
    first.write('another');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(readdirSync(folder)).toEqual([]);
  });
});

it.skipIf(!existsSync('/dev/full'))(
  'a file with secrets that finds no room leaves the one before, and nothing else',
  async () => {
    const file = join(temporaryFolder(), 'secret');
    await writePrivateFile(file, 'old');
    symlinkSync('/dev/full', `${file}.${process.pid}`);
    await expect(writePrivateFile(file, 'new')).rejects.toThrow('ENOSPC');
    expect(content(file)).toBe('old');
    expect(readdirSync(dirname(file))).toEqual(['secret']);
  },
);
