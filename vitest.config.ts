// The test runner: a few processes serve all test files, against one Postgres and one Temporal server for the whole run.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { countBranches } from './test/fuzz/branches.ts';
import { LongestFirst } from './test/setup/longest-first.ts';

/** What judges the sources and the pages, and starts no server: `npm run check` runs it. */
const sources = [
  'test/architecture.test.ts',
  'test/regular-expressions.test.ts',
  'test/documentation/pages.test.ts',
  'test/platform/config/settings-page.test.ts',
  'test/platform/errors/catalogue.test.ts',
  'test/platform/metrics/documentation.test.ts',
  'test/platform/log-events.test.ts',
];

/**
 * Whole processes of the service that are started, stopped, killed, cut off and raced, each start seconds of a processor,
 * and ten thousand deliveries that wait. `npm test` leaves them out; `npm run test:long` and `.ci/run` have them, alone
 * on the machine.
 */
const long = [
  'test/faults/*.test.ts',
  'test/webhooks/deliveries/faults.test.ts',
  'test/operations/operators/incidents.test.ts',
  'test/webhooks/endpoints/waiting-crowd.test.ts',
  'test/app/local/local-stack*.test.ts',
  'test/app/local/temporal-external.test.ts',
  'test/app/roles/*.test.ts',
  'test/operations/doctor/doctor.command.test.ts',
  'test/platform/metrics/processes.test.ts',
  'test/platform/tracing/publish-to-receipt.test.ts',
  'test/redaction/*.test.ts',
  'test/operations/backup.test.ts',
  'test/documentation/readme.test.ts',
  'test/documentation/operations-pages.test.ts',
  'test/interleavings/planted-defects.test.ts',
  'test/console/*.test.ts',
  'test/app/pages/docs-browser.test.ts',
];

// Tests wait more than they compute, for timers and servers: two cores would otherwise have one file at a time.
const maxWorkers = Math.max(5, availableParallelism());
const globalSetup = ['test/setup/global.ts'];

const fuzz = {
  extends: true as const,
  plugins: [countBranches(['src', 'packages'].map((folder) => join(import.meta.dirname, folder)))],
  test: { name: 'fuzz', include: ['test/fuzz/explore.ts'], maxWorkers: 1 },
};

export default defineConfig({
  test: {
    pool: 'forks',
    // Room for short-lived objects: collecting them was a tenth of the processor time.
    execArgv: ['--max-semi-space-size=64'],
    // A file leaves nothing behind but its modules: loading them anew for each file took a third of a run.
    isolate: false,
    setupFiles: ['test/setup/leave-nothing.ts'],
    testTimeout: 90_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    reporters: ['default', './test/setup/slowest-cases.ts', './scripts/failed-cases.mjs'],
    sequence: { sequencer: LongestFirst },
    // Temporal's workers run workflows in the thread of the tests: a thread for each worker cost a tenth of the processor
    // time, and gives up a workflow that a busy machine has stopped for five seconds. Real processes have those threads.
    env: { NODE_ENV: 'test', TZ: 'UTC', TEMPORAL_DEBUG: '1' },
    projects: [
      { extends: true, test: { name: 'architecture', include: sources, maxWorkers } },
      {
        extends: true,
        test: {
          name: 'service',
          include: ['test/**/*.test.ts'],
          exclude: [...sources, ...long],
          globalSetup,
          maxWorkers,
        },
      },
      // `npm run test:fuzz` names the seconds; no other run has it.
      ...(process.env.FUZZ_SECONDS === undefined ? [] : [fuzz]),
      {
        extends: true,
        test: { name: 'long', include: long, globalSetup, maxWorkers: 2, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
