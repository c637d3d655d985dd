// What a command of the command line is given: its services, and where its lines and its exit code go.

/** `print` writes one line to stdout, `tell` one line of progress to stderr; `fail` sets the exit code. */
export type CommandOutput<Open> = {
  readonly open: Open;
  readonly print: (line: string) => void;
  readonly tell: (line: string) => void;
  readonly fail: (code: number) => void;
};
