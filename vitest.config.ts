// The test runner: every test file in a process of its own, against one Postgres and one Temporal server for the whole run.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

const architecture = 'test/architecture.test.ts';

export default defineConfig({
  test: {
    pool: 'forks',
    // Tests wait more than they compute, for timers and servers: two cores would otherwise have one file at a time.
    maxWorkers: Math.max(4, availableParallelism()),
    testTimeout: 90_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    env: { NODE_ENV: 'test', TZ: 'UTC' },
    projects: [
      { extends: true, test: { name: 'architecture', include: [architecture] } },
      {
        extends: true,
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: [architecture],
          globalSetup: ['test/setup/global.ts'],
        },
      },
    ],
  },
});
