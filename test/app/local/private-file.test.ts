import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { writePrivateFile } from '../../../src/app/local/private-file.ts';
import { temporaryFolder } from './temporary-folder.ts';

it.skipIf(!existsSync('/dev/full'))(
  'a file with secrets that finds no room leaves the one before, and nothing else',
  async () => {
    const file = join(temporaryFolder(), 'secret');
    await writePrivateFile(file, 'old');
    symlinkSync('/dev/full', `${file}.${process.pid}`);
    await expect(writePrivateFile(file, 'new')).rejects.toThrow('ENOSPC');
    expect(readFileSync(file, 'utf8')).toBe('old');
    expect(readdirSync(dirname(file))).toEqual(['secret']);
  },
);
