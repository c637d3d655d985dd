// A key for development, made once in the data folder. If a master key is lost, the secrets sealed with it are lost.
import { randomBytes } from 'node:crypto';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../platform/config.ts';
import type { Purpose } from '../../platform/kms/key-service.client.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/** Names in the data folder. */
export const KEY_FILES: Readonly<Record<Purpose, string>> = {
  MASTER_KEY: 'master.key',
  AUDIT_KEY: 'audit.key',
};

/**
 * @param dataDir created when it is missing
 * @returns 32 bytes in base64, the same for every call and process; kept in a file of mode 0600
 * @throws ConfigError naming the setting when the folder cannot keep a key, or the file holds no key
 */
export async function obtainKey(name: Purpose, dataDir: string): Promise<string> {
  const file = join(dataDir, KEY_FILES[name]);
  try {
    const kept = (await readPrivateFile(file)) ?? (await makeKey(dataDir, file));
    const keys = kept.trim().split(',');
    if (keys.every((key) => Buffer.from(key, 'base64').length === 32)) return keys.join(',');
  } catch (error) {
    throw new ConfigError(name, `is not set, and none can be kept: ${(error as Error).message}`);
  }
  throw new ConfigError(name, `is not set, and ${file} does not hold 32 bytes in base64`);
}

/** When several processes make a key concurrently, all of them return the key that was written first. */
async function makeKey(dataDir: string, file: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  const made = randomBytes(32).toString('base64');
  const mine = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    await writePrivateFile(mine, `${made}\n`);
    await link(mine, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(mine, { force: true });
  }
  return (await readPrivateFile(file)) ?? '';
}
