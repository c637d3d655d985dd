// One part of a local stack: a process in a session of its own, from its start to its end.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Keeper } from './keeper.ts';
import { asDiskFull, LocalStackError } from './local-stack-error.ts';
import { endProcess, identify, type PartEnd } from './processes.ts';

/** A process that runs. `exited` never rejects: it resolves with one line about the end of the process. */
export type Part = {
  readonly name: string;
  readonly pid: number;
  readonly end: PartEnd;
  /** The last 16 KiB of its output; empty where that is not read. */
  readonly readLog: () => string;
  readonly exited: Promise<LocalStackError>;
  readonly stop: () => Promise<void>;
};

/**
 * Starts a process and waits until it can be used.
 * @param options.name as the operator reads it
 * @param options.dataDir the output goes to `logs/<name>.log` in it, and one earlier log is kept; without it the
 *   process has the output of this one, and a channel for messages
 * @param options.keeper ends the process when this one is gone
 * @param options.signal gives the start up
 * @param options.ready resolves when the part can be used; its signal aborts when that cannot be any more
 * @throws LocalStackError when the process ends before it can be used; the errors of `ready`
 */
export async function startPart(options: {
  name: string;
  program: string;
  args: readonly string[];
  spawn: Pick<SpawnOptions, 'cwd' | 'env' | 'uid' | 'gid'>;
  dataDir?: string | undefined;
  end: PartEnd;
  keeper?: Keeper | undefined;
  signal?: AbortSignal | undefined;
  ready: (child: ChildProcess, signal: AbortSignal) => Promise<unknown>;
}): Promise<Part> {
  const { name, end, dataDir } = options;
  const log = dataDir === undefined ? undefined : openLog(dataDir, name);
  const child = spawn(options.program, options.args, {
    ...options.spawn,
    detached: true,
    stdio: log === undefined ? ['ignore', 'inherit', 'inherit', 'ipc'] : ['ignore', log.fd, log.fd],
  });
  if (log !== undefined) closeSync(log.fd);
  const identity = child.pid === undefined ? null : identify(child.pid);
  const exited = new Promise<LocalStackError>((resolve) => {
    const close = (how: string) => resolve(describeEnd(name, child.pid, how, log?.path));
    child.once('exit', (code, signal) => close(signal ?? `exit code ${code}`));
    // Node also emits an error for a message that could not be sent.
    child.on('error', (error) => (child.pid === undefined ? close(error.message) : undefined));
  });
  const stop = async () => {
    if (identity !== null) await endProcess(identity, end);
  };
  const gone = new AbortController();
  void exited.then((reason) => gone.abort(reason));
  const signal = AbortSignal.any([gone.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  try {
    if (identity !== null) options.keeper?.add(name, identity, end);
    await options.ready(child, signal);
    signal.throwIfAborted();
  } catch (error) {
    const reason: unknown = signal.aborted ? signal.reason : error;
    await stop();
    throw reason;
  }
  const readLog = () => (log === undefined ? '' : readEnd(log.path));
  return { name, pid: child.pid ?? 0, end, readLog, exited, stop };
}

function openLog(dataDir: string, name: string): { path: string; fd: number } {
  const path = join(dataDir, 'logs', `${name.toLowerCase()}.log`);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) renameSync(path, `${path}.1`);
  return { path, fd: openSync(path, 'w', 0o600) };
}

/** Names the cause that the log of the process has in its last 16 KiB. */
function describeEnd(
  name: string,
  pid: number | undefined,
  how: string,
  log: string | undefined,
): LocalStackError {
  const said = log === undefined ? '' : readEnd(log);
  const fatal = said.split('\n').findLast((line) => /FATAL|PANIC|^error:/i.test(line));
  const cause = fatal === undefined ? how : `${how}: ${fatal.slice(0, 300)}`;
  const where = log === undefined ? '' : ` (see ${log})`;
  return (
    asDiskFull(said, dirname(dirname(log ?? ''))) ??
    new LocalStackError(`${name} (process ${pid}) ended unexpectedly: ${cause}${where}.`)
  );
}

/** Returns an empty text for a log that cannot be read, so that the end of the process is still reported. */
function readEnd(log: string): string {
  try {
    return readFileSync(log, 'utf8').slice(-16_384);
  } catch {
    return '';
  }
}
