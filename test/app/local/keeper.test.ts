// The keeper, and the list of parts that is also the lock of a data folder.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKeeper, takeDataFolder } from '../../../src/app/local/keeper.ts';
import { identify } from '../../../src/app/local/processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const KEEPER = fileURLToPath(new URL('../../../src/app/local/keeper.mjs', import.meta.url));

/** Tells when it is up; on SIGTERM writes its name, after a while, and ends, unless it is stubborn. */
const PART = `
  const [file, name, stubborn] = process.argv.slice(1);
  const { appendFileSync } = require('node:fs');
  process.on('SIGTERM', () => {
    if (stubborn) return;
    setTimeout(() => { appendFileSync(file, name + ' '); process.exit(0); }, 100);
  });
  setInterval(() => {}, 1000);
  console.log('up');`;

async function part(journal: string, name: string, stubborn = false) {
  const child = spawn(process.execPath, ['-e', PART, journal, name, ...(stubborn ? ['stubborn'] : [])], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return { child, entry: entry(child, name, 1) };
}

function entry(child: ChildProcess, name: string, order: number) {
  return { name, ...identify(Number(child.pid)), order, grace: 1_000, signals: ['SIGTERM', 'SIGKILL'] };
}

function startKeeper(file: string, owner: number) {
  const keeper = spawn(process.execPath, [KEEPER, file, String(owner)], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  onTestFinished(() => void keeper.kill('SIGKILL'));
  return keeper;
}

describe('the keeper', () => {
  it('ends the parts in order when its starter vanishes, by force where it must, and takes the files away', async () => {
    const folder = temporaryFolder();
    const [journal, file, runFile] = [
      join(folder, 'journal'),
      join(folder, 'parts.json'),
      join(folder, 'run.json'),
    ];
    const [first, second, last] = await Promise.all([
      part(journal, 'api'),
      part(journal, 'worker', true),
      part(journal, 'postgres'),
    ]);
    const parts = [
      { ...last.entry, order: 4 },
      { ...second.entry, order: 2 },
      { ...first.entry, order: 1 },
    ];
    writeFileSync(runFile, '{}');
    writeFileSync(file, JSON.stringify({ owner: { pid: 77 }, parts, remove: [runFile] }));
    const keeper = startKeeper(file, 77);
    // A busy machine can say that the keeper has ended before it says so of the last part.
    const gone = [first.child, second.child, last.child, keeper].map((child) => once(child, 'exit'));
    keeper.stdin?.end();
    const exits = await Promise.all(gone);
    expect(exits.map(([code, signal]) => code ?? signal)).toEqual([0, 'SIGKILL', 0, 0]);
    expect(readFileSync(journal, 'utf8')).toBe('api postgres ');
    expect([existsSync(file), existsSync(runFile)]).toEqual([false, false]);
  });

  it('touches neither a process that got the id of a part, nor the list of a later starter', async () => {
    const folder = temporaryFolder();
    const [journal, file] = [join(folder, 'journal'), join(folder, 'parts.json')];
    const other = await part(journal, 'other');
    const run = async (list: object) => {
      writeFileSync(file, JSON.stringify({ remove: [], ...list }));
      const keeper = startKeeper(file, 77);
      keeper.stdin?.end();
      await once(keeper, 'exit');
    };
    await run({ owner: { pid: 77 }, parts: [{ ...other.entry, started: 'another time' }] });
    await run({ owner: { pid: 78 }, parts: [other.entry] });
    expect(other.child.exitCode).toBeNull();
    expect(existsSync(file)).toBe(true);
  });
});

const DEAD = { pid: 4_194_000, started: 'long ago' };

describe('a data folder', () => {
  it('is not taken from a process that runs', async () => {
    const folder = temporaryFolder();
    const file = join(folder, 'parts.json');
    await takeDataFolder(file);
    const keeper = createKeeper({ file });
    await expect(takeDataFolder(file)).rejects.toThrow(
      `Another instance (process ${process.pid}) runs on ${folder}: stop it, or set DATA_DIR to another folder.`,
    );
    await keeper.close();
    expect(await takeDataFolder(file)).toEqual([]);
    expect(readdirSync(folder)).toEqual(['parts.json']);
  });

  it.each([
    ['a process that is gone', JSON.stringify({ owner: DEAD, parts: [], remove: [] })],
    [
      'a process whose id went to another',
      JSON.stringify({ owner: { ...identify(process.pid), started: 'before' }, parts: [], remove: [] }),
    ],
    ['nobody: the file was cut off', '{"owner"'],
  ])('is taken from %s', async (_, content) => {
    const folder = temporaryFolder();
    const file = join(folder, 'parts.json');
    writeFileSync(file, content);
    expect(await takeDataFolder(file)).toEqual([]);
    expect(JSON.parse(readFileSync(file, 'utf8')).owner).toEqual(identify(process.pid));
    expect(readdirSync(folder)).toEqual(['parts.json']);
  });

  it('is taken after what an earlier start left running has ended, and that is named', async () => {
    const folder = temporaryFolder();
    const [journal, file] = [join(folder, 'journal'), join(folder, 'parts.json')];
    const left = await part(journal, 'temporal');
    const gone = { ...left.entry, name: 'api', pid: DEAD.pid };
    writeFileSync(file, JSON.stringify({ owner: DEAD, parts: [gone, left.entry], remove: [] }));
    const exit = once(left.child, 'exit');
    expect(await takeDataFolder(file)).toEqual(['temporal']);
    expect(await exit).toEqual([0, null]);
  });
});
