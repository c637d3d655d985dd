// The master key for development, made once in the data folder. If it is lost, the secrets sealed with it are lost.
import { randomBytes } from 'node:crypto';
import { link, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../../platform/config.ts';
import type { Environment } from '../roles.ts';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/**
 * @param dataDir created when it is missing
 * @returns 32 bytes in base64, the same for every call and process; kept in `master.key`, mode 0600
 * @throws ConfigError naming MASTER_KEY when the folder cannot keep a key, or the file holds no key
 */
export async function obtainMasterKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'master.key');
  try {
    const kept = (await readPrivateFile(file)) ?? (await makeKey(dataDir, file));
    if (Buffer.from(kept, 'base64').length === 32) return kept.trim();
  } catch (error) {
    throw new ConfigError('MASTER_KEY', `is not set, and none can be kept: ${(error as Error).message}`);
  }
  throw new ConfigError('MASTER_KEY', `is not set, and ${file} does not hold 32 bytes in base64`);
}

/**
 * @returns the environment with a MASTER_KEY; in development the default is the key of the data folder
 * @throws ConfigError like `obtainMasterKey`
 */
export async function withMasterKey(env: Environment): Promise<Environment> {
  // Without a database no secret is sealed, so no key is needed.
  if (env.MASTER_KEY || env.NODE_ENV === 'production' || !env.DATABASE_URL) return env;
  return { ...env, MASTER_KEY: await obtainMasterKey(env.DATA_DIR || '.data') };
}

/** When several processes make a key concurrently, all of them return the key that was written first. */
async function makeKey(dataDir: string, file: string): Promise<string> {
  await mkdir(dataDir, { recursive: true });
  const mine = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    await writePrivateFile(mine, `${randomBytes(32).toString('base64')}\n`);
    await link(mine, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(mine, { force: true });
  }
  return (await readPrivateFile(file)) ?? '';
}
