// Lines that rooms log as errors: each is kept for the file whose test made the room, and fails that file alone. A
// process serves many files, so a room can log while the next file runs.
import { expect } from 'vitest';

type Line = Readonly<Record<string, unknown>>;
type FileErrors = ReturnType<typeof createFileErrors>;

let current: FileErrors | undefined;

/** Begins the lines of a test file; the setup of each file calls it. */
export function beginFile(): FileErrors {
  current = createFileErrors();
  return current;
}

/**
 * @returns the lines of the file that runs now, for what it makes
 * @throws Error when nobody would judge them
 */
export function errorsOfThisFile(): FileErrors {
  if (current === undefined) throw new Error('test/setup/leave-nothing.ts has not begun this file');
  return current;
}

function createFileErrors() {
  let lines: string[] = [];
  return {
    /** Keeps a line, with the case that ran when it was logged. */
    note: (line: Line): void => {
      const { currentTestName = 'no case' } = expect.getState();
      lines.push(`during "${currentTestName}": ${JSON.stringify(line)}`);
    },
    /** @throws Error with the lines since the last call, when there are any */
    judge: (): void => {
      const logged = lines;
      lines = [];
      if (logged.length > 0) throw new Error(`logged as errors:\n${logged.join('\n')}`);
    },
  };
}
