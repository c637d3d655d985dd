// Identifies processes by id and start time, so that a signal never reaches a later process with the same id.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Identifies a process: a later process with the same id has another `started`. */
export type ProcessIdentity = { readonly pid: number; readonly started: string };

/** @returns true while a process with this id exists, also a process of another user */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return !isZombie(pid);
}

/** @returns an opaque text that differs for every process which ever has this id; null when no process has it now */
export function startOf(pid: number): string | null {
  if (process.platform === 'linux') {
    const ticks = readStat(pid)?.[19];
    return ticks === undefined ? null : `${bootId()}:${ticks}`;
  }
  try {
    const started = execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return started === '' ? null : started;
  } catch {
    return null;
  }
}

/** @returns null when no process has this id */
export function identify(pid: number): ProcessIdentity | null {
  const started = isAlive(pid) ? startOf(pid) : null;
  return started === null ? null : { pid, started };
}

/** @returns true while this process runs, and not a later one with the same id */
export function isRunning(identity: ProcessIdentity): boolean {
  return isAlive(identity.pid) && startOf(identity.pid) === identity.started;
}

/** @returns the parent's id, or null when the process is gone */
export function parentOf(pid: number): number | null {
  if (process.platform === 'linux') return Number(readStat(pid)?.[1] ?? Number.NaN) || null;
  try {
    return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)], { encoding: 'utf8' })) || null;
  } catch {
    return null;
  }
}

/** @returns the command line, words joined by spaces; empty when the process is gone */
export function commandOf(pid: number): string {
  try {
    if (process.platform === 'linux')
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}

/** Sends a signal; does nothing when the process has ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/**
 * Ends a process: sends each signal in turn until the process has ended.
 * @param steps signals with the milliseconds to wait after each
 * @returns false when the process still runs after all of them
 */
export async function endProcess(
  identity: ProcessIdentity,
  steps: readonly { signal: NodeJS.Signals; wait: number }[],
): Promise<boolean> {
  for (const step of steps) {
    if (!isRunning(identity)) return true;
    signal(identity.pid, step.signal);
    const deadline = Date.now() + step.wait;
    while (Date.now() < deadline && isRunning(identity)) await sleep(50);
  }
  return !isRunning(identity);
}

/**
 * Fields of /proc/<pid>/stat after the command's name: [0] is the state, [1] the parent, [19] the start in clock ticks.
 */
function readStat(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** Needed because the start in ticks counts from the boot of the machine, so it repeats after a reboot. */
function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** True for a process that has ended but whose exit code was not read: it accepts signals, but does not run. */
function isZombie(pid: number): boolean {
  return process.platform === 'linux' && readStat(pid)?.[0] === 'Z';
}
