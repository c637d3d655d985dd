// What a log is, without the library that writes it.

/** A log line. `event` is its permanent name, for alerts; docs/operations/log-events.md lists all names. */
export type LogFields = { readonly event: string; readonly [field: string]: unknown };

export type Log<Level extends 'debug' | 'info' | 'warn' | 'error' = 'debug' | 'info' | 'warn' | 'error'> =
  Readonly<Record<Level, (fields: LogFields, message: string) => void>>;

/** The log of a command, whose answer is what it prints. */
export const SILENT: Log = Object.freeze({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
});

/** The message of an error without its stack, for an unavailable dependency, which is expected and reported often. */
export function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
