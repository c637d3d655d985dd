// Runs one role of the service (api or worker) as a part of a local stack. The role reports when it is ready.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { FromPart } from '../../platform/process/part-protocol.ts';
import type { Keeper } from './keeper.ts';
import { LocalStackError } from './local-stack-error.ts';
import { type Part, startPart } from './part.ts';
import type { PartEnd } from './processes.ts';

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
 * of resident memory, and made nothing faster (docs/performance.md). Short-lived objects have the 16 MB of a machine
 * without bounds: within the 512 MiB of a container V8 gives them less, and a token cost half as much again. Long-lived
 * ones are collected for the first time at 64 MB: a worker that met a crowd had 130 MB of garbage before.
 */
export const NODE_FLAGS = [
  '--v8-pool-size=1',
  '--max-semi-space-size=16',
  '--initial-old-space-size=64',
] as const;

/**
 * Variables of glibc's malloc. With a fixed threshold, large blocks stay outside the heap and are given back: by
 * default the threshold grows with the largest block that was freed, and the worker keeps 20 MB more.
 */
export const MALLOC_SETTINGS = { MALLOC_TRIM_THRESHOLD_: '1048576' } as const;

/** Milliseconds within which a role must report that it is ready. */
const LIMIT = 60_000;

/**
 * Starts a role and waits until it reports that it is ready.
 * @param options.main file of the command line, run with the role as its argument
 * @param options.environment all variables of the process
 * @param options.signal gives the start up
 * @throws LocalStackError when the role ends, fails or does not report in time
 */
export async function startRole(options: {
  role: RoleName;
  main: string;
  environment: NodeJS.ProcessEnv;
  keeper: Keeper;
  signal: AbortSignal;
}): Promise<Part> {
  const { role, main, environment, keeper, signal } = options;
  const name = role === 'api' ? 'API' : 'Worker';
  return await startPart({
    name,
    program: process.execPath,
    args: [...NODE_FLAGS, main, role],
    spawn: { env: { ...MALLOC_SETTINGS, ...environment } },
    end: ROLE_ENDS[role],
    keeper,
    signal,
    ready: (child, ended) => untilReady(name, child, ended),
  });
}

async function untilReady(name: string, child: ChildProcess, ended: AbortSignal): Promise<void> {
  const late = AbortSignal.timeout(LIMIT);
  const message = await once(child, 'message', { signal: AbortSignal.any([ended, late]) }).then(
    ([first]) => first as FromPart,
    (error: unknown) => {
      if (!late.aborted) throw error;
      throw new LocalStackError(`${name} did not become ready within ${LIMIT / 1_000} s.`);
    },
  );
  if ('ready' in message) return;
  // A role names a busy port itself.
  const isWhole = /^Port \d+ is in use/.test(message.failed);
  throw new LocalStackError(isWhole ? message.failed : `${name} did not start: ${message.failed}`);
}
