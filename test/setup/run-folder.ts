// A folder for a server of the tests. It goes away with the run, also when the run is killed.
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeeper, type Keeper } from '../../src/app/local/keeper.ts';

/** In bytes; a container often has 64 MB, and the databases of a run some 1 GB. */
const MEMORY_NEEDED = 4 * 2 ** 30;

/**
 * @param start starts a server in the folder, and returns what stops it
 * @returns what stops the server and removes the folder
 */
export async function inRunFolder(
  start: (folder: string, keeper: Keeper) => Promise<() => Promise<void>>,
): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(await quickestFolder(), 'countersign-test-'));
  await chmod(folder, 0o755);
  const keeper = createKeeper({ file: join(folder, 'parts.json'), remove: [folder] });
  const end = async () => {
    await keeper.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const stop = await start(folder, keeper);
    return async () => {
      await stop();
      await end();
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Hundreds of databases of 700 files each: memory makes one in a tenth of the processor time that a disk takes. */
async function quickestFolder(): Promise<string> {
  const memory = '/dev/shm';
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > MEMORY_NEEDED ? memory : tmpdir();
}

export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
