// The log file of a third-party part. Restarts append to it; a large file is truncated first.
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const LARGEST = 32 * 1_048_576;

/**
 * @param dataDir the data folder; the file is `logs/<name>.log` in it
 * @returns `fd` for the output of the child (close it after the spawn), and `said()`: the text written since this call,
 *   at most the last 16 KiB
 */
export function openPartLog(dataDir: string, name: string) {
  const folder = join(dataDir, 'logs');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${name}.log`);
  const fd = openSync(path, 'a', 0o600);
  if (fstatSync(fd).size > LARGEST) ftruncateSync(fd);
  const begin = fstatSync(fd).size;
  return {
    path,
    fd,
    close: () => closeSync(fd),
    said(): string {
      const reader = openSync(path, 'r');
      try {
        const { size } = fstatSync(reader);
        const from = Math.max(begin, size - 16_384);
        const buffer = Buffer.alloc(Math.max(0, size - from));
        readSync(reader, buffer, 0, buffer.length, from);
        return buffer.toString('utf8');
      } finally {
        closeSync(reader);
      }
    },
  };
}
