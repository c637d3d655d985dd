import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LocalStackError } from '../../../src/app/local/local-stack-error.ts';
import { lockDataFolder } from '../../../src/app/local/lock.ts';
import { identify } from '../../../src/app/local/processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const DEAD = { pid: 4_194_000, started: 'long ago' };

const quiet = () => undefined;

describe('the lock of a data folder', () => {
  it('keeps a second instance out, and says which process has it', async () => {
    const folder = temporaryFolder();
    const lock = await lockDataFolder(folder, quiet);
    const second = lockDataFolder(folder, quiet);
    await expect(second).rejects.toThrow(LocalStackError);
    await expect(second).rejects.toThrow(
      `Another instance (process ${process.pid}) runs on ${folder}: stop it, or set DATA_DIR to another folder.`,
    );
    lock.release();
    (await lockDataFolder(folder, quiet)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is waited for while its holder is stopping', async () => {
    const folder = temporaryFolder();
    const said: string[] = [];
    const first = await lockDataFolder(folder, quiet);
    first.stopping();
    const second = lockDataFolder(folder, (line) => said.push(line));
    await expect
      .poll(() => said)
      .toEqual([`Waiting for the instance before (process ${process.pid}) to stop.`]);
    first.release();
    (await second).release();
  });

  it('lets a stop go on when that cannot be told', async () => {
    const folder = temporaryFolder();
    const lock = await lockDataFolder(folder, quiet);
    symlinkSync(join(folder, 'nowhere', 'lock'), join(folder, `lock.${process.pid}`));
    lock.stopping();
    await expect(lockDataFolder(folder, quiet)).rejects.toThrow(/^Another instance/);
    lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    ['a process that is gone', JSON.stringify(DEAD)],
    ['a process that died while it was stopping', JSON.stringify({ ...DEAD, stopping: true })],
    ['a process whose id went to another', JSON.stringify({ ...identify(process.pid), started: 'before' })],
    ['nobody: the file was cut off', '{"pid"'],
  ])('is taken over from %s', async (_, content) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'lock'), content);
    const lock = await lockDataFolder(folder, quiet);
    expect(JSON.parse(readFileSync(join(folder, 'lock'), 'utf8'))).toEqual(identify(process.pid));
    lock.release();
  });
});
