// Room on disk, looked at before something is begun that would break half-way without it.
import { mkdir, statfs } from 'node:fs/promises';
import { asDiskFull, LocalStackError } from './local-stack-error.ts';

/**
 * Makes a folder that is certain to have room.
 * @param folder created when it is missing
 * @param megabytes what must be free for an ordinary user
 * @param mode of a folder that is created
 * @throws LocalStackError when there is less, or when the folder cannot be made
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
