// The test runner: a few processes serve all test files, against one Postgres and one Temporal server for the whole run.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/setup/longest-first.ts';

const architecture = 'test/architecture.test.ts';
/** Kills at each step of real processes take minutes: only `.ci/run`, which sets CI, runs them. */
const kills = process.env.CI === undefined ? ['test/faults/rotation-kills.test.ts'] : [];

export default defineConfig({
  test: {
    pool: 'forks',
    // A file leaves nothing behind but its modules: loading them anew for each file took a third of a run.
    isolate: false,
    setupFiles: ['test/setup/leave-nothing.ts'],
    // Tests wait more than they compute, for timers and servers: two cores would otherwise have one file at a time.
    maxWorkers: Math.max(4, availableParallelism()),
    testTimeout: 90_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    reporters: ['default', './test/setup/slowest-cases.ts'],
    sequence: { sequencer: LongestFirst },
    env: { NODE_ENV: 'test', TZ: 'UTC' },
    projects: [
      { extends: true, test: { name: 'architecture', include: [architecture] } },
      {
        extends: true,
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: [architecture, ...kills],
          globalSetup: ['test/setup/global.ts'],
        },
      },
    ],
  },
});
