// One instance on a data folder: a lock file that names its holder, and counts only while exactly that process runs.
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LocalStackError } from './local-stack-error.ts';
import { identify, isRunning, type ProcessIdentity } from './processes.ts';

/**
 * Takes the lock of a data folder, also from a holder that died.
 * @param dataDir exists
 * @returns releases it
 * @throws LocalStackError when another process holds it
 */
export function lockDataFolder(dataDir: string): () => void {
  const lock = join(dataDir, 'lock');
  const mine = `${lock}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  try {
    for (let attempt = 0; !tryLink(mine, lock); attempt += 1) {
      const holder = readHolder(lock);
      if (holder !== null && (isRunning(holder) || attempt > 20)) {
        throw new LocalStackError(
          `Another instance (process ${holder.pid}) runs on ${dataDir}: stop it, or set DATA_DIR to another folder.`,
        );
      }
      takeAway(lock, `${mine}.stale`);
    }
  } finally {
    rmSync(mine, { force: true });
  }
  const release = () => {
    process.off('exit', release);
    if (readHolder(lock)?.pid === process.pid) rmSync(lock, { force: true });
  };
  process.once('exit', release);
  return release;
}

/** link(2) makes the name only when nobody has it, together with its content. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Removes the lock of a dead holder, and puts back one that somebody else took meanwhile. */
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

function readHolder(lock: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as ProcessIdentity | null;
  } catch {
    return null;
  }
}
