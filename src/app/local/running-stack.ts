// Finds the stack that `npm start` runs in the data folder, so that commands in the same clone need no settings.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads the settings of the stack that runs in `DATA_DIR` (by default `.data`), from files only.
 * @returns settings by variable name; empty when DATABASE_URL is set, or when no stack was started in that folder
 */
export async function findRunningStack(env: Environment): Promise<Record<string, string>> {
  if (env.DATABASE_URL !== undefined && env.DATABASE_URL !== '') return {};
  const folder = env.DATA_DIR || '.data';
  const [stack, masterKey, demo] = await Promise.all([
    readOptional(join(folder, 'run.json')),
    readOptional(join(folder, 'master.key')),
    readOptional(join(folder, 'demo-tenant.json')),
  ]);
  if (stack === undefined) return {};
  const { database_url: databaseUrl, ports } = JSON.parse(stack) as {
    database_url: string;
    ports: Record<string, number | null>;
  };
  const publicUrl = demo === undefined ? undefined : (JSON.parse(demo) as { base_url: string }).base_url;
  return {
    DATABASE_URL: databaseUrl,
    COUNTERSIGN_LOCAL: '1',
    ...(masterKey === undefined ? {} : { MASTER_KEY: masterKey.trim() }),
    ...(typeof ports.api === 'number' ? { PORT: String(ports.api) } : {}),
    ...(typeof ports.temporal === 'number' ? { TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}` } : {}),
    ...(typeof ports.temporal_ui === 'number'
      ? { TEMPORAL_UI_URL: `http://localhost:${ports.temporal_ui}` }
      : {}),
    ...(publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl }),
  };
}

async function readOptional(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
