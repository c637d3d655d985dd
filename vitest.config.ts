// The test runner: every test file in a process of its own, against one Postgres and one Temporal server for the whole run.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup/global.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
    env: { NODE_ENV: 'test', TZ: 'UTC' },
  },
});
