// Small files with secrets in the data folder: mode 0600, replaced atomically and durably. Folders of parts.
import { chmod, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/**
 * Replaces a file. Readers see the old or the new content, never a part of it, also after a power failure.
 * @param file path; its folder exists
 */
export async function writePrivateFile(file: string, content: string): Promise<void> {
  const next = `${file}.${process.pid}`;
  try {
    await writeDurably(next, content);
    await rename(next, file);
  } catch (error) {
    await rm(next, { force: true }).catch(() => undefined);
    throw error;
  }
  const folder = await open(dirname(file), 'r').catch(() => null);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}

async function writeDurably(file: string, content: string): Promise<void> {
  const handle = await open(file, 'w', 0o600);
  try {
    await handle.chmod(0o600);
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @returns the text, or null when there is no file */
export async function readPrivateFile(file: string): Promise<string | null> {
  return await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

/** Takes a folder and its files, which an earlier release may have made for all to read, from other users. */
export async function closeFolder(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const name of await readdir(folder)) await chmod(join(folder, name), 0o600);
}
