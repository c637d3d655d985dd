// Runs one role of the service (api or worker) as a process in a separate session, which reports over IPC when it is
// up.
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FromPart } from '../../platform/process/part-protocol.ts';
import { type PartExit, stopPart } from './foreign-part.ts';
import type { Keeper, PartEnd } from './keeper.ts';
import type { RunningPart } from './kept-part.ts';
import { LocalStackError } from './local-stack-error.ts';

export type RoleName = 'api' | 'worker';

/**
 * Each `grace` exceeds the time that the role itself gives unfinished work: answers of an api, attempts of a worker.
 */
export const ROLE_ENDS: Readonly<Record<RoleName, PartEnd>> = {
  api: { order: 1, grace: 10_000, signals: ['SIGTERM', 'SIGKILL'] },
  worker: { order: 2, grace: 35_000, signals: ['SIGTERM', 'SIGKILL'] },
};

/**
 * Arguments of Node.js. One thread helps V8 to collect and to compile: three more cost both roles together 13 to 22 MB
 * of resident memory, and made nothing faster (docs/performance.md).
 */
export const NODE_FLAGS = ['--v8-pool-size=1'] as const;

/**
 * Variables of glibc's malloc. With a fixed threshold, large blocks stay outside the heap and are given back: by
 * default the threshold grows with the largest block that was freed, and the worker keeps 20 MB more.
 */
export const MALLOC_SETTINGS = { MALLOC_TRIM_THRESHOLD_: '1048576' } as const;

/** Milliseconds within which a role must report that it is up. */
const LIMIT = 60_000;

/**
 * Starts a role and waits until it reports that it is ready.
 * @param options.main file of the command line, run with the role as its argument
 * @param options.environment all variables of the process
 * @param options.signal aborts the wait
 * @throws LocalStackError when the role ends, fails or does not report in time
 */
export async function startRole(options: {
  role: RoleName;
  main: string;
  environment: NodeJS.ProcessEnv;
  keeper: Keeper;
  signal: AbortSignal;
}): Promise<RunningPart> {
  const { role, keeper } = options;
  const child = spawn(process.execPath, [...NODE_FLAGS, options.main, role], {
    detached: true,
    env: { ...MALLOC_SETTINGS, ...options.environment },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const { pid } = child;
  if (pid !== undefined) keeper.add(role, pid, ROLE_ENDS[role]);
  const exited = watch(child).then((exit) => {
    if (pid !== undefined) keeper.remove(pid);
    return exit;
  });
  const stop = () => stopPart(child, ROLE_ENDS[role]);
  try {
    await ready(child, { ...options, exited });
  } catch (error) {
    await stop();
    throw error;
  }
  if (pid === undefined) throw new LocalStackError(`The ${role} process could not be started.`);
  return { pid, exited, stop };
}

async function ready(
  child: ChildProcess,
  options: {
    role: RoleName;
    exited: Promise<PartExit>;
    signal: AbortSignal;
  },
): Promise<void> {
  const { role, exited } = options;
  const silence = new AbortController();
  const answer = new Promise<void>((resolve, reject) => {
    child.on('message', (message: FromPart) => {
      if ('ready' in message) resolve();
      else reject(failure(role, message.failed));
    });
  });
  const ended = exited.then((exit) => {
    throw new LocalStackError(`The ${role} process did not start: ${exit.description}`);
  });
  const late = sleep(LIMIT, undefined, { signal: AbortSignal.any([silence.signal, options.signal]) }).then(
    () => {
      throw new LocalStackError(`The ${role} process did not become ready within ${LIMIT / 1_000} s.`);
    },
  );
  // The promises that lose the race may reject later; without a handler that would end this process.
  for (const loser of [answer, ended, late]) loser.catch(() => undefined);
  try {
    await Promise.race([answer, ended, late]);
  } finally {
    silence.abort();
  }
}

function failure(role: RoleName, failed: string): LocalStackError {
  // A role names a busy port itself.
  if (/^Port \d+ is in use/.test(failed)) return new LocalStackError(failed);
  return new LocalStackError(`The ${role} process did not start: ${failed}`);
}

function watch(child: ChildProcess): Promise<PartExit> {
  return new Promise((resolve) => {
    // Node also emits an error for a signal or a message that could not be sent.
    child.on('error', (error) => resolve({ reason: null, description: error.message }));
    child.once('exit', (code, signal) =>
      resolve({ reason: null, description: signal ?? `exit code ${code}` }),
    );
  });
}
