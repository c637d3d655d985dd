// One part of a local stack: what its start waits for, and what its end says.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startPart } from '../../../src/app/local/part.ts';
import { identify } from '../../../src/app/local/processes.ts';
import { temporaryFolder } from './temporary-folder.ts';

const END = { order: 1, grace: 5_000, signals: ['SIGTERM', 'SIGKILL'] as const };

/** Starts a program of Node as a part with a log in `dataDir`. */
const start = (dataDir: string, code: string, ready: Parameters<typeof startPart>[0]['ready']) =>
  startPart({
    ...{ name: 'Part', program: process.execPath, args: ['-e', code], spawn: {} },
    ...{ dataDir, end: END, ready },
  });

const never = (_: unknown, signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });

describe('a part of a local stack', () => {
  it('that ends before it is ready fails its start with the cause that its log has', async () => {
    const dataDir = temporaryFolder();
    const log = join(dataDir, 'logs', 'part.log');
    await expect(start(dataDir, 'console.log("FATAL: no"); process.exit(3)', never)).rejects.toThrow(
      new RegExp(`^Part \\(process \\d+\\) ended unexpectedly: exit code 3: FATAL: no \\(see ${log}\\)\\.$`),
    );
    await expect(start(dataDir, 'console.log("No space left on device")', never)).rejects.toThrow(
      `The disk is full: free some space for ${dataDir}, or`,
    );
    expect(readFileSync(`${log}.1`, 'utf8')).toBe('FATAL: no\n');
  });

  it('that cannot become ready is ended, and the reason is the one of the wait', async () => {
    let pid = 0;
    const starting = start(temporaryFolder(), 'setInterval(() => {}, 1000)', async (child) => {
      pid = Number(child.pid);
      throw new Error('no answer');
    });
    await expect(starting).rejects.toThrow('no answer');
    expect(identify(pid)).toBeNull();
  });

  it('that cannot be started says so', async () => {
    const options = { name: 'Part', args: [], spawn: {}, dataDir: temporaryFolder(), end: END, ready: never };
    await expect(startPart({ ...options, program: '/nowhere/program' })).rejects.toThrow(/ENOENT/);
  });

  it('tells its end also when its log cannot be read', async () => {
    const dataDir = temporaryFolder();
    const log = join(dataDir, 'logs', 'part.log');
    const part = await start(dataDir, 'setInterval(() => {}, 1000)', async () => undefined);
    rmSync(log);
    mkdirSync(log);
    await part.stop();
    expect((await part.exited).message).toBe(
      `Part (process ${part.pid}) ended unexpectedly: SIGTERM (see ${log}).`,
    );
  });
});
