// The platform of the tests: one database, and a clock, a notifier, a log and settings that a test may replace.
import { randomBytes } from 'node:crypto';
import { Registry } from 'prom-client';
import { type Config, loadConfig } from '../../src/platform/config.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { createObjectives } from '../../src/platform/metrics/objectives.ts';
import type { Channel, Platform } from '../../src/platform/opening/platform.ts';
import { NO_TRACING } from '../../src/platform/tracing/tracing.ts';
import { errorsOfThisFile } from './logged-errors.ts';

const OFF = ['TENANT', 'ADDRESS', 'FINGERPRINT_FAILURES', 'CLIENT_FAILURES', 'PUBLISH'];

const CONFIG = loadConfig(
  {
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://localhost/unused',
    MASTER_KEY: randomBytes(32).toString('base64'),
    AUDIT_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: 'http://localhost:8080',
    DEFAULT_TENANT: 'demo',
    REFRESH_TOKEN_LIFETIME: '3600',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ...Object.fromEntries(OFF.map((name) => [`RATE_LIMIT_${name}`, '0'])),
  },
  { role: 'api' },
);

/** Settings beside those of the tests; a limit that is not named is off. */
export type TestConfig = Partial<Omit<Config, 'rateLimit'>> & { rateLimit?: Partial<Config['rateLimit']> };

export type TestPlatform = Partial<Omit<Platform, 'config' | 'notifier'>> & {
  config?: TestConfig;
  notifier?: Pick<Channel, 'poke'>;
};

/** A channel on which nothing is ever heard. */
const DEAF: Channel = { poke: () => undefined, listen: () => ({ close: async () => undefined }) };

/** A log whose lines reach `write`, from `warn` on. */
export const createTestLog = (write: (line: Record<string, unknown>) => void) =>
  createLogger(
    { logLevel: 'warn', logFormat: 'json' },
    { write: (line: string) => write(JSON.parse(line) as Record<string, unknown>) },
  );

/** An error that a room logs fails the file that made the room. Timers that outlive it find its database closed. */
function createStrictLog({ pool }: Database) {
  const errors = errorsOfThisFile();
  return createTestLog((line) => {
    if (line.level === 'error' && !pool.ending) errors.note(line);
  });
}

/** @param replaced what a test has of its own; `config` may be a part of the settings */
export function createTestPlatform(
  database: Database,
  { config = {}, notifier = DEAF, ...replaced }: TestPlatform = {},
): Platform {
  // Each has metrics of its own: two of one name cannot be registered.
  const registry = new Registry();
  return {
    config: { ...CONFIG, ...config, rateLimit: { ...CONFIG.rateLimit, ...config.rateLimit } },
    log: createStrictLog(database),
    openChannel: () => DEAF,
    tracing: NO_TRACING,
    clock: { now: () => Date.now(), monotonic: () => performance.now() },
    close: async () => undefined,
    ...replaced,
    notifier: { ...DEAF, ...notifier },
    database,
    registry,
    objectives: createObjectives({ registry }),
  };
}
