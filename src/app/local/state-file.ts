// Small files with the current state, for other processes. On a full disk work goes on, and the newest state is written
// later.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { asDiskFull } from './local-stack-error.ts';

/**
 * `write` replaces the content as soon as possible; `remove` deletes the file for good. Neither throws on a full disk.
 */
export type StateFile = { readonly file: string; write(content: string): void; remove(): void };

export type StateFiles = { open(file: string): StateFile };

/**
 * @param options.folder named in the report when the disk is full
 * @param options.say receives one line when a state cannot be written, and one when all states are on disk again
 * @param options.pause milliseconds until the next try
 * @returns opens files: mode 0600, replaced atomically, never truncated
 */
export function createStateFiles(options: {
  folder: string;
  say: (line: string) => void;
  pause?: number | undefined;
}): StateFiles {
  const { folder, say, pause = 2_000 } = options;
  const behind = new Set<string>();

  function fellBehind(file: string, error: unknown): void {
    if (behind.size === 0) {
      const message = error instanceof Error ? error.message : String(error);
      const why = asDiskFull(message, folder)?.message ?? `${file} cannot be written: ${message}.`;
      say(`${why} What runs goes on, and ${file} is written as soon as that is possible.`);
    }
    behind.add(file);
  }

  function caughtUp(file: string): void {
    if (behind.delete(file) && behind.size === 0) say(`${file} is written again.`);
  }

  return {
    open(file) {
      const next = `${file}.${process.pid}`;
      let gone = false;
      let timer: NodeJS.Timeout | undefined;

      function write(content: string): void {
        clearTimeout(timer);
        if (gone) return;
        try {
          writeFileSync(next, content, { mode: 0o600 });
          renameSync(next, file);
        } catch (error) {
          discard(next);
          fellBehind(file, error);
          timer = setTimeout(() => write(content), pause).unref();
          return;
        }
        caughtUp(file);
      }

      return {
        file,
        write,
        remove() {
          clearTimeout(timer);
          gone = true;
          behind.delete(file);
          for (const path of [file, next]) rmSync(path, { force: true });
        },
      };
    },
  };
}

/** Removes a temporary file. If that fails, the next write replaces the file. */
function discard(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The failed write has been reported already.
  }
}
