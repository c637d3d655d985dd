// Allows one running stack for each data folder. The lock file names its holder and is valid while that process runs.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalStackError } from './local-stack-error.ts';
import { identify, isRunning, type ProcessIdentity } from './processes.ts';

/** The content of the lock file; `stopping`: the holder is about to release the lock. */
type Holder = ProcessIdentity & { readonly stopping?: boolean };

/** `stopping` marks the lock as soon free, so that other processes wait for it; `release` removes the lock. */
export type DataFolderLock = { stopping(): void; release(): void };

/** Milliseconds to wait for a holder that is stopping: a little longer than an ordered stop can take. */
const PATIENCE = 90_000;

/**
 * Takes the lock of a data folder, also from a dead holder; waits for a holder that is stopping.
 * @param dataDir an existing folder
 * @param say receives one line when it has to wait
 * @throws LocalStackError when another process holds the lock
 */
export async function lockDataFolder(dataDir: string, say: (line: string) => void): Promise<DataFolderLock> {
  const lock = join(dataDir, 'lock');
  const mine = `${lock}.${process.pid}`;
  const write = (more: { stopping?: boolean }) =>
    writeFileSync(mine, JSON.stringify({ ...identify(process.pid), ...more }), { mode: 0o600 });
  write({});
  try {
    for (let waited = 0; !tryLink(mine, lock); waited += 100) {
      const holder = readHolder(lock);
      if (holder === null || !isRunning(holder)) {
        takeAway(lock, `${mine}.stale`);
        continue;
      }
      if (!holder.stopping || waited > PATIENCE) {
        throw new LocalStackError(
          `Another instance (process ${holder.pid}) runs on ${dataDir}: stop it, or set DATA_DIR to another folder.`,
        );
      }
      if (waited === 0) say(`Waiting for the instance before (process ${holder.pid}) to stop.`);
      await sleep(100);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  const release = () => {
    process.off('exit', release);
    if (readHolder(lock)?.pid === process.pid) rmSync(lock, { force: true });
  };
  process.once('exit', release);
  return {
    release,
    stopping: () => {
      try {
        write({ stopping: true });
        renameSync(mine, lock);
      } catch {
        // On a full disk the mark is not written: other processes are refused instead of waiting, and the stop goes on.
        rmSync(mine, { force: true });
      }
    },
  };
}

/** @returns whether a running process holds the lock of this data folder */
export function isDataFolderHeld(dataDir: string): boolean {
  const holder = readHolder(join(dataDir, 'lock'));
  return holder !== null && isRunning(holder);
}

/** link(2) fails when the name exists, and creates the file with its whole content. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the lock of a dead holder. Restores the lock if another process has taken it in the meantime. */
function takeAway(lock: string, aside: string): void {
  try {
    renameSync(lock, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const holder = readHolder(aside);
  if (holder !== null && isRunning(holder)) tryLink(aside, lock);
  rmSync(aside, { force: true });
}

function readHolder(lock: string): Holder | null {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as Holder | null;
  } catch {
    return null;
  }
}
