// The key that seals secrets at rest, for development: made once in the data folder. Losing it loses what it sealed.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readPrivateFile, writePrivateFile } from './private-file.ts';

/**
 * @param dataDir exists
 * @returns 32 bytes in base64, the same at each call; kept in `master.key`, mode 0600
 */
export async function obtainMasterKey(dataDir: string): Promise<string> {
  const file = join(dataDir, 'master.key');
  const kept = await readPrivateFile(file);
  if (kept !== null) return kept.trim();
  const key = randomBytes(32).toString('base64');
  await writePrivateFile(file, `${key}\n`);
  return key;
}
