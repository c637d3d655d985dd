// The real command line as a process, over a database with the tenant `demo`: what the tests of the roles share.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, inject } from 'vitest';
import { AUDIT_KEY, createTestDatabase } from '../../setup/database.ts';
import { buildStack } from '../local/stack.ts';
import { temporaryFolder } from '../local/temporary-folder.ts';

const KEY = Buffer.alloc(32, 1).toString('base64');
export const OTHER_KEY = Buffer.alloc(32, 2).toString('base64');

/**
 * @param settings of all runs
 * @returns `run`, which runs `countersign`; what it is given; and `close`
 */
export async function prepareRuns(settings: Readonly<Record<string, string>> = {}) {
  const main = join(await buildStack(), 'src/main.js');
  const test = await createTestDatabase();
  const base: Readonly<Record<string, string>> = {
    PATH: process.env.PATH ?? '',
    DATABASE_URL: test.url,
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: inject('temporalNamespace'),
    METRICS_PORT: '0',
    PUBLIC_URL: 'http://localhost:8080',
    MASTER_KEY: KEY,
    AUDIT_KEY,
    ...settings,
  };

  /** Runs `countersign` with these arguments; it is ended with the test at the latest. */
  const run = (args: readonly string[], variables: Record<string, string> = {}) => {
    const dataDir = variables.DATA_DIR ?? join(temporaryFolder(), 'data');
    const env = { ...base, ...variables, DATA_DIR: dataDir };
    const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { stdout: '', stderr: '' };
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output.stderr += text;
    });
    const exited = once(child, 'close').then(([code]) => code as number | null);
    return { child, exited, output, dataDir };
  };

  const made = run(['tenant', 'create', 'demo', '--json'], { DATA_DIR: 'unused' });
  expect(await made.exited).toBe(0);
  return { main, base, test, run, close: () => test.drop() };
}
