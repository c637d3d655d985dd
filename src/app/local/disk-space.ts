// Checks free disk space before work that would otherwise fail half-way.
import { mkdir, statfs } from 'node:fs/promises';
import { asDiskFull, LocalStackError } from './local-stack-error.ts';

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
