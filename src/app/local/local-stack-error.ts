// The error for the operator of a local stack, always one line, and the check of the disk that most often gives it.
import { mkdir, statfs } from 'node:fs/promises';

/** The local stack cannot start or run; `message` is one line that names the fault and its remedy. */
export class LocalStackError extends Error {
  override readonly name = 'LocalStackError';
}

/**
 * Turns an error text about a lack of disk space into one line for the operator.
 * @param text an error's message, or the end of a part's log
 * @param folder the folder on the full disk
 * @returns null when the text has another cause
 */
export function asDiskFull(text: string, folder: string): LocalStackError | null {
  if (!/ENOSPC|EDQUOT|No space left on device|database or disk is full|disk quota exceeded/i.test(text))
    return null;
  return new LocalStackError(
    `The disk is full: free some space for ${folder}, or set DATA_DIR to a folder on another disk.`,
  );
}

/**
 * Creates a folder and checks the free space of its disk.
 * @param megabytes that must be free for an ordinary user
 * @param mode of a folder that is created
 * @throws LocalStackError when less is free, or when the folder cannot be created
 */
export async function requireRoom(folder: string, megabytes: number, mode = 0o755): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw asDiskFull(message, folder) ?? new LocalStackError(`${folder} cannot be made: ${message}`);
  }
  const { bavail, bsize } = await statfs(folder);
  const free = Math.floor((bavail * bsize) / 1_048_576);
  if (free >= megabytes) return;
  throw new LocalStackError(
    `The disk is full: ${folder} has ${free} MB left and needs ${megabytes} MB. Free some space, or set DATA_DIR to a folder on another disk.`,
  );
}
