// Finds the stack that `npm start` runs in the data folder, so that commands in the same clone need no settings.
import { join } from 'node:path';
import type { Environment } from '../roles.ts';
import { KEY_FILES } from './kept-key.ts';
import { readPrivateFile } from './private-file.ts';

/** `run.json`, there while the stack is ready. null: the stack uses a Temporal server that it has not started. */
export type RunningStack = {
  /** For the role of api and worker. */
  readonly database_url: string;
  readonly ports: {
    readonly api: number;
    readonly temporal: number | null;
    readonly temporal_ui: number | null;
  };
};

/**
 * Reads the settings of the stack that runs in `DATA_DIR` (by default `.data`), from files only.
 * @returns settings by variable name; empty when DATABASE_URL is set, or when no stack is ready in that folder
 */
export async function findRunningStack(env: Environment): Promise<Record<string, string>> {
  if (env.DATABASE_URL) return {};
  const read = (name: string) => readPrivateFile(join(env.DATA_DIR || '.data', name));
  const [stack, masterKey, auditKey, demo] = await Promise.all(
    ['run.json', KEY_FILES.MASTER_KEY, KEY_FILES.AUDIT_KEY, 'demo-tenant.json'].map(read),
  );
  if (!stack) return {};
  const { database_url, ports } = JSON.parse(stack) as RunningStack;
  return {
    DATABASE_URL: database_url,
    COUNTERSIGN_LOCAL: '1',
    PORT: String(ports.api),
    ...(masterKey ? { MASTER_KEY: masterKey.trim() } : {}),
    ...(auditKey ? { AUDIT_KEY: auditKey.trim() } : {}),
    ...(ports.temporal === null ? {} : { TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}` }),
    ...(ports.temporal_ui === null ? {} : { TEMPORAL_UI_URL: `http://localhost:${ports.temporal_ui}` }),
    ...(demo ? { PUBLIC_URL: (JSON.parse(demo) as { base_url: string }).base_url } : {}),
  };
}
