// What the commands need of their process, which tests replace, and how they read their arguments.
import { readDuration } from '../../platform/command-times.ts';

export type TerminalRuntime = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes one line to stdout. */
  readonly print: (line: string) => void;
  /** Writes one line to stderr. */
  readonly tell: (line: string) => void;
  /** Sets the exit code. */
  readonly fail: (code: number) => void;
  /** Columns of the terminal; undefined when stdout is none. */
  readonly columns?: number | undefined;
  /** From this call on SIGINT and SIGTERM abort the signal instead of ending the process. */
  readonly interrupted: () => AbortSignal;
  /** Everything on stdin. */
  readonly readInput: () => Promise<Buffer>;
};

/** @returns the code of the error of a request, `timeout`, or else its words */
export function faultOf({ name, message, cause }: Error): string {
  if (name === 'TimeoutError') return 'timeout';
  return cause instanceof Error && 'code' in cause ? String(cause.code) : message;
}

/** An expected failure: what is wrong and what to do, in a few lines without a stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}

/** @returns a URL from what people type, such as `localhost:3000/hooks` @throws CommandFailure */
export function readTarget(text: string, option: string): string {
  const url = /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(url)) throw new CommandFailure(`${option}: ${text} is not a URL`);
  return url;
}

/** @returns the secret of a subscription @throws CommandFailure without one */
export function readSecret({ secret }: { secret?: string }, { env }: Pick<TerminalRuntime, 'env'>): string {
  const given = secret ?? env.WEBHOOK_SECRET;
  if (given === undefined || given === '') throw new CommandFailure('--secret or WEBHOOK_SECRET is needed.');
  return given;
}

/** @returns the time so long ago as 90s, 10m, 12h or 7d say @throws CommandFailure */
export function timeAgo(text: string, option: string): Date {
  const seconds = readDuration(text);
  if (seconds === undefined)
    throw new CommandFailure(`--${option}: must be a duration such as 90s, 10m, 12h or 7d`);
  return new Date(Date.now() - seconds * 1000);
}
