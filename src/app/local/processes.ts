// Identifies processes by id and start time, so that a signal never reaches a later process with the same id.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Identifies a process: a later process with the same id has another `started`. */
export type ProcessIdentity = { readonly pid: number; readonly started: string };

/** How a part is ended: parts of a lower order first, each signal in turn, `grace` milliseconds apart. */
export type PartEnd = {
  readonly order: number;
  readonly grace: number;
  readonly signals: readonly NodeJS.Signals[];
};

type Seen = { readonly parent: number; readonly started: string; readonly command: string };

/** @returns what the system says of a process; null when none runs with this id */
export function lookUp(pid: number): Seen | null {
  try {
    return process.platform === 'linux' ? readProc(pid) : askPs(pid);
  } catch {
    return null;
  }
}

/** @returns true while a process with this id exists, also a process of another user */
export function isAlive(pid: number): boolean {
  if (process.platform === 'linux') return lookUp(pid) !== null;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** @returns null when no process has this id */
export function identify(pid: number): ProcessIdentity | null {
  const seen = lookUp(pid);
  return seen === null ? null : { pid, started: seen.started };
}

/** @returns true while this process runs, and not a later one with the same id */
export function isRunning({ pid, started }: ProcessIdentity): boolean {
  return lookUp(pid)?.started === started;
}

/** Sends a signal to this process; does nothing when it has ended. */
export function signal(identity: ProcessIdentity, name: NodeJS.Signals): void {
  if (!isRunning(identity)) return;
  try {
    process.kill(identity.pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Sends each signal in turn until the process has ended. @returns false when it still runs after all of them */
export async function endProcess(identity: ProcessIdentity, { signals, grace }: PartEnd): Promise<boolean> {
  for (const name of signals) {
    signal(identity, name);
    const deadline = Date.now() + grace;
    while (Date.now() < deadline && isRunning(identity)) await sleep(50);
  }
  return !isRunning(identity);
}

/** Throws when there is no such process. A process that has ended and whose exit code was not read counts as none. */
function readProc(pid: number): Seen | null {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name: [0] is the state, [1] the parent, [19] the start in clock ticks since the boot of the machine.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return null;
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  return { parent: Number(fields[1]), started: `${boot}:${fields[19]}`, command };
}

function askPs(pid: number): Seen | null {
  const columns = ['-o', 'ppid=', '-o', 'lstart=', '-o', 'command='];
  const said = execFileSync('ps', ['-ww', ...columns, '-p', String(pid)], { encoding: 'utf8' });
  const [, parent, started, command] = /^\s*(\d+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)/.exec(said) ?? [];
  if (parent === undefined || started === undefined || command === undefined) return null;
  return { parent: Number(parent), started, command };
}
