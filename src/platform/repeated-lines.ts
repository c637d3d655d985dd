// Counts equal warnings and errors of the log: the first is written, and then one line a minute with their number.
import type { Log, LogFields } from './logging.ts';

type Level = keyof Log;
type Repeated = { readonly write: (count: number) => void; count: number; timer: NodeJS.Timeout };

/** Milliseconds of one line. */
const WINDOW = 60_000;

/** The most different lines that are counted. Further ones are written. */
const MOST_COUNTED = 200;

/**
 * Wraps a log. Lines are equal when they have the same level, fields and message; only lines with a `reason` are
 * counted, because the others are about one thing each. `temporal`, the details of the SDK, need not be equal.
 * @returns the log; `flush` writes the counts that have not been written
 */
export function countRepeatedLines(
  written: Log,
  { window = WINDOW }: { window?: number | undefined } = {},
): { log: Log; flush(): void } {
  const repeated = new Map<string, Repeated>();

  const end = (key: string): void => {
    const line = repeated.get(key);
    if (line === undefined) return;
    repeated.delete(key);
    clearTimeout(line.timer);
    if (line.count === 0) return;
    line.write(line.count);
    begin(key, line.write);
  };

  const begin = (key: string, write: Repeated['write']): void => {
    repeated.set(key, { write, count: 0, timer: setTimeout(end, window, key).unref() });
  };

  const counted =
    (level: Level) =>
    (fields: LogFields, message: string): void => {
      if (typeof fields.reason !== 'string') {
        written[level](fields, message);
        return;
      }
      const { temporal: _, ...equal } = fields;
      const key = JSON.stringify([level, equal, message]);
      const line = repeated.get(key);
      if (line !== undefined) {
        line.count += 1;
        return;
      }
      written[level](fields, message);
      if (repeated.size < MOST_COUNTED)
        begin(key, (count) => written[level]({ ...fields, repeated: count }, message));
    };

  return {
    log: {
      debug: (fields, message) => written.debug(fields, message),
      info: (fields, message) => written.info(fields, message),
      warn: counted('warn'),
      error: counted('error'),
    },
    flush: () => {
      for (const [key, line] of [...repeated]) {
        repeated.delete(key);
        clearTimeout(line.timer);
        if (line.count > 0) line.write(line.count);
      }
    },
  };
}
