// What the commands of daily work need of the process; tests pass substitutes.

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

/** An expected failure: what is wrong and what to do, in a few lines without a stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
}
