// The list of running parts on disk, which is also the lock of a data folder, and the keeper: a process that ends the
// parts in order when their starter dies, also by SIGKILL. Only the starter writes the list.
// docs/decisions/0041-local-stack.md
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocalStackError } from './local-stack-error.ts';
import { identify, isRunning, type PartEnd, type ProcessIdentity, signal } from './processes.ts';

const KEEPER = fileURLToPath(new URL('./keeper.mjs', import.meta.url));

/** The list on disk; `owner` is the process that wrote it, `remove` what the keeper takes away at the end. */
type PartsFile = {
  owner: ProcessIdentity | null;
  parts: (ProcessIdentity & PartEnd & { name: string })[];
  remove: readonly string[];
};

/**
 * Takes a data folder for this process. What an earlier owner left running is ended in order first.
 * @param file path of the list, in the data folder
 * @returns the names of the parts that were still running
 * @throws LocalStackError when a running process owns the folder, or a part cannot be ended
 */
export async function takeDataFolder(file: string): Promise<string[]> {
  const left: string[] = [];
  const mine = `${file}.${process.pid}`;
  writeList(mine, { owner: identify(process.pid), parts: [], remove: [] });
  try {
    while (!tryLink(mine, file)) left.push(...(await endLeftovers(file)));
  } finally {
    rmSync(mine, { force: true });
  }
  return left;
}

/**
 * Starts the keeper for the parts of this process.
 * @param options.file path of the list
 * @param options.remove files and folders that the keeper removes after it had to end the parts
 * @returns `add` names a part immediately after its spawn; `force` ends every part without its work, the keeper sends
 *   the signals that are left; `close` ends the keeper, after every part has ended
 */
export function createKeeper({ file, remove = [] }: { file: string; remove?: readonly string[] }) {
  const list: PartsFile = { owner: identify(process.pid), parts: [], remove };
  const write = () => {
    writeList(`${file}.${process.pid}`, list);
    renameSync(`${file}.${process.pid}`, file);
  };
  write();
  const child = spawn(process.execPath, [KEEPER, file, String(process.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  child.on('error', () => undefined);
  child.unref();

  return {
    add(name: string, part: ProcessIdentity, end: PartEnd): void {
      list.parts.push({ name, ...part, ...end });
      write();
    },
    force(): void {
      for (const part of list.parts) signal(part, part.signals[1] ?? part.signals[0] ?? 'SIGKILL');
    },
    async close(): Promise<void> {
      rmSync(file, { force: true });
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.ref();
      child.stdin.end();
      await exited;
    },
  };
}

export type Keeper = ReturnType<typeof createKeeper>;

/** Ends the parts of a list whose owner has ended, and removes the list. @returns the names of those that still ran */
async function endLeftovers(file: string): Promise<string[]> {
  refuseOwner(file);
  const aside = `${file}.left`;
  try {
    renameSync(file, aside);
  } catch {
    // Another start was faster.
    return [];
  }
  try {
    refuseOwner(aside);
  } catch (error) {
    tryLink(aside, file);
    throw error;
  }
  const list = readList(aside);
  const running = list?.parts.filter(isRunning) ?? [];
  await once(spawn(process.execPath, [KEEPER, aside, String(list?.owner?.pid)], { stdio: 'ignore' }), 'exit');
  const left = running.find(isRunning);
  if (left !== undefined)
    throw new LocalStackError(
      `${left.name} (process ${left.pid}) of an earlier start cannot be ended: end it by hand.`,
    );
  rmSync(aside, { force: true });
  return running.map(({ name }) => name);
}

function refuseOwner(file: string): void {
  const owner = readList(file)?.owner;
  if (owner && isRunning(owner))
    throw new LocalStackError(
      `Another instance (process ${owner.pid}) runs on ${dirname(file)}: stop it, or set DATA_DIR to another folder.`,
    );
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

function writeList(file: string, list: PartsFile): void {
  writeFileSync(file, JSON.stringify(list), { mode: 0o600 });
}

/** @returns null for a list that is not there or not whole */
function readList(file: string): PartsFile | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PartsFile | null;
  } catch {
    return null;
  }
}
