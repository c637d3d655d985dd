// Watches and stops a process of a third-party program (Postgres, Temporal).
import type { ChildProcess } from 'node:child_process';
import type { PartEnd } from './keeper.ts';
import { asDiskFull, type LocalStackError } from './local-stack-error.ts';
import { endProcess, identify } from './processes.ts';

/** `reason` is set when the log of the process names a cause that the operator can fix. */
export type PartExit = { readonly reason: LocalStackError | null; readonly description: string };

/**
 * @param options.output the log of the child, from `openPartLog`
 * @returns resolves when the process has ended or could not be spawned; never rejects
 */
export async function watchPart(
  child: ChildProcess,
  { dataDir, output }: { dataDir: string; output: { said(): string; path: string } },
): Promise<PartExit> {
  const how = await new Promise<string>((resolve) => {
    // Node also emits an error for a signal that could not be sent.
    child.on('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const said = read(output);
  const fatal = said.split('\n').findLast((line) => /FATAL|PANIC|^error:/i.test(line));
  return {
    reason: asDiskFull(said, dataDir),
    description: `${how}${fatal ? `: ${fatal.slice(0, 300)}` : ''} (see ${output.path})`,
  };
}

/** Returns an empty text for a log that cannot be read, so that the end of the process is still reported. */
function read(output: { said(): string }): string {
  try {
    return output.said();
  } catch {
    return '';
  }
}

/** Sends the signals of `PartEnd` in turn, until the process has ended. */
export async function stopPart(child: ChildProcess, { signals, grace }: PartEnd): Promise<void> {
  const identity = child.pid === undefined ? null : identify(child.pid);
  if (identity === null) return;
  await endProcess(
    identity,
    signals.map((signal) => ({ signal, wait: grace })),
  );
}
