import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalStackError } from '../../src/local/local-stack-error.ts';
import { lockDataFolder } from '../../src/local/lock.ts';
import { identify } from '../../src/local/processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const DEAD = { pid: 4_194_000, started: 'long ago' };

describe('the lock of a data folder', () => {
  it('keeps a second instance out, and says which process has it', () => {
    const folder = temporaryFolder();
    const release = lockDataFolder(folder);
    expect(() => lockDataFolder(folder)).toThrow(LocalStackError);
    expect(() => lockDataFolder(folder)).toThrow(
      `Another instance (process ${process.pid}) runs on ${folder}: stop it, or set DATA_DIR to another folder.`,
    );
    release();
    lockDataFolder(folder)();
    expect(existsSync(join(folder, 'lock'))).toBe(false);
  });

  it.each([
    ['a process that is gone', JSON.stringify(DEAD)],
    ['a process whose id went to another', JSON.stringify({ ...identify(process.pid), started: 'before' })],
    ['nobody: the file was cut off', '{"pid"'],
  ])('is taken over from %s', (_, content) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'lock'), content);
    const release = lockDataFolder(folder);
    expect(JSON.parse(readFileSync(join(folder, 'lock'), 'utf8'))).toEqual(identify(process.pid));
    release();
  });
});
