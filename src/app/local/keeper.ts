// The list of running parts on disk, and the keeper process that ends them in order when their starter dies (also by
// SIGKILL). A part is in the list as long as it runs; only its starter writes the list.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocalStackError } from './local-stack-error.ts';
import { isRunning, signal, startOf } from './processes.ts';
import { createStateFiles, type StateFiles } from './state-file.ts';

const KEEPER = fileURLToPath(new URL('./keeper.mjs', import.meta.url));

/** How a part is ended: parts of a lower order first; each signal in turn, `grace` milliseconds apart. */
export type PartEnd = {
  readonly order: number;
  readonly grace: number;
  readonly signals: readonly NodeJS.Signals[];
};

/** Parts that an earlier run may have left running, and the process that wrote the list. */
type PartsFile = {
  owner: number;
  parts: (PartEnd & { name: string; pid: number; started: string })[];
  remove: string[];
};

/**
 * Ends the parts that an earlier starter left running, in order, and waits until they have ended.
 * @param file the list that the earlier starter kept
 * @returns the names of the parts that were still running
 */
export async function endLeftovers(file: string): Promise<string[]> {
  const list = readList(file);
  if (list === null) return [];
  const running = list.parts.filter(isRunning);
  const child = spawn(process.execPath, [KEEPER, file, String(list.owner)], {
    stdio: 'ignore',
    detached: true,
  });
  await once(child, 'exit');
  const left = running.find(isRunning);
  if (left !== undefined) {
    throw new LocalStackError(
      `${left.name} (process ${left.pid}) of an earlier start cannot be ended: end it by hand.`,
    );
  }
  rmSync(file, { force: true });
  return running.map((part) => part.name);
}

/**
 * Begins to watch over the parts of this process.
 * @param options.file where the list is kept; written as soon as the disk has space
 * @param options.remove files and folders that the keeper removes when it had to end the parts
 * @param options.files reports when the list cannot be written; without it, there is no report
 * @returns none of its functions throws when the disk is full
 */
export function createKeeper({
  file,
  remove = [],
  files = createStateFiles({ folder: dirname(file), say: () => undefined }),
}: {
  file: string;
  remove?: readonly string[] | undefined;
  files?: StateFiles | undefined;
}) {
  const list: PartsFile = { owner: process.pid, parts: [], remove: [...remove] };
  const kept = files.open(file);
  const write = () => kept.write(JSON.stringify(list));
  let closed = false;
  write();
  let child = start();

  function start() {
    const started = spawn(process.execPath, [KEEPER, file, String(process.pid)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    started.stdin?.on('error', () => undefined);
    started.once('exit', () => {
      setTimeout(() => {
        if (!closed) child = start();
      }, 500).unref();
    });
    started.on('error', () => undefined);
    started.unref();
    return started;
  }

  return {
    /** Adds a part immediately after it was spawned. */
    add(name: string, pid: number, end: PartEnd): void {
      list.parts.push({ name, pid, started: startOf(pid) ?? '', ...end });
      write();
    },
    /** Removes a part that has ended. */
    remove(pid: number): void {
      list.parts = list.parts.filter((part) => part.pid !== pid);
      write();
    },
    /** The keeper's process id. The keeper is no part; it ends by itself. */
    get pid(): number | undefined {
      return child.pid;
    },
    /**
     * Ends every part immediately: sends the last signal but one (the last, if there are only two); the keeper sends
     * the rest.
     */
    force(): void {
      for (const { pid, signals } of list.parts) {
        const last = signals.at(-1);
        const harder = signals.length > 2 ? signals.at(-2) : last;
        if (harder !== undefined) signal(pid, harder);
      }
    },
    /** Ends the watch; every part must have ended before. */
    async close(): Promise<void> {
      closed = true;
      kept.remove();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.ref();
      child.stdin?.end();
      await exited;
    },
  };
}

export type Keeper = ReturnType<typeof createKeeper>;

function readList(file: string): PartsFile | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as PartsFile;
  } catch {
    return null;
  }
}
