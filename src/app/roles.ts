// Runs a role of the service: reads its settings, loads its module, reports a failed start.

import { type Config, loadConfig, type Role } from '../platform/config.ts';
import { createLogger } from '../platform/logger.ts';
import { announceFailure, endUntilStarted } from '../platform/process/part-protocol.ts';
import { exitWhenUncaught } from '../platform/process/uncaught.ts';
import { withKeys } from './keys.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

export type Output = {
  /** True for programs as readers: api and worker log lines of JSON, `migrate` and `start` print one object. */
  readonly json: boolean;
  readonly print: (line: string) => void;
};

type Run = (config: Config, env: Environment, output: Output) => Promise<void>;

/** A process loads only what its role needs. */
const ROLES: Readonly<Record<Exclude<Role, 'command'>, () => Promise<Run>>> = {
  start: async () => (await import('./local/role.ts')).runStart,
  api: async () => (await import('./api.ts')).runApi,
  worker: async () => (await import('./worker.ts')).runWorker,
  migrate: async () => (await import('./migrate.ts')).runMigrate,
};

/**
 * Runs a role until it is stopped.
 * @throws ConfigError when a setting is wrong; any other error that prevents the start, after a report to a supervisor
 */
export async function runRole(name: keyof typeof ROLES, env: Environment, output: Output): Promise<void> {
  if (name !== 'start') endUntilStarted();
  try {
    const asked = output.json ? { ...env, LOG_FORMAT: 'json' } : env;
    const settings = name === 'start' ? asked : await withKeys(asked, name);
    const config = loadConfig(settings, { role: name });
    // The other roles log to stderr, because --json reserves stdout for the printed object.
    const destination = name === 'api' || name === 'worker' ? process.stdout : process.stderr;
    exitWhenUncaught(createLogger(config, destination).child({ role: name }));
    const run = await ROLES[name]();
    await run(config, settings, output);
  } catch (error) {
    announceFailure(error);
    throw error;
  }
}
