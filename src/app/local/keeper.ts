// The list of running parts on disk, and the keeper: a process that ends the parts in order when their starter dies,
// also by SIGKILL. Only the starter writes the list.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LocalStackError } from './local-stack-error.ts';
import { isRunning, signal, startOf } from './processes.ts';
import { createStateFiles, type StateFiles } from './state-file.ts';

const KEEPER = fileURLToPath(new URL('./keeper.mjs', import.meta.url));

/** How a part is ended: parts of a lower order first, each signal in turn, `grace` milliseconds apart. */
export type PartEnd = {
  readonly order: number;
  readonly grace: number;
  readonly signals: readonly NodeJS.Signals[];
};

/** The list on disk; `owner` is the process that wrote it. */
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
 * Starts the keeper for the parts of this process. No function of the result throws when the disk is full.
 * @param options.file path of the list; written as soon as the disk has space
 * @param options.remove files and folders that the keeper removes after it had to end the parts
 * @param options.files reports when the list cannot be written; without it, there is no report
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
    /** Called immediately after the spawn of the part. */
    add(name: string, pid: number, end: PartEnd): void {
      list.parts.push({ name, pid, started: startOf(pid) ?? '', ...end });
      write();
    },
    remove(pid: number): void {
      list.parts = list.parts.filter((part) => part.pid !== pid);
      write();
    },
    /** The process id of the keeper, which is no part and ends by itself. */
    get pid(): number | undefined {
      return child.pid;
    },
    /**
     * Ends every part immediately: sends the last signal but one (the last, if there are only two). The keeper sends
     * the rest.
     */
    force(): void {
      for (const { pid, signals } of list.parts) {
        const last = signals.at(-1);
        const harder = signals.length > 2 ? signals.at(-2) : last;
        if (harder !== undefined) signal(pid, harder);
      }
    },
    /** Ends the keeper; every part must have ended before. */
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
