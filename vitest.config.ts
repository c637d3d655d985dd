// The test runner: projects by what their files need, and a few processes that serve all files of a project.
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';
import { countBranches } from './test/fuzz/branches.ts';
import { LongestFirst } from './test/setup/longest-first.ts';
import { sortByNeed } from './test/setup/needs.ts';
import { HANG, PATIENCE } from './test/setup/patience.ts';

/** What judges the sources and the pages: `npm run check` runs it. */
const sources = [
  'test/architecture.test.ts',
  'test/tables.test.ts',
  'test/time.test.ts',
  'test/regular-expressions.test.ts',
  'test/services.test.ts',
  'test/unsteady.test.ts',
  'test/documentation/architecture-drawing.test.ts',
  'test/documentation/decisions.test.ts',
  'test/documentation/pages.test.ts',
  'test/platform/config/settings-page.test.ts',
  'test/platform/errors/catalogue.test.ts',
  'test/platform/metrics/documentation.test.ts',
  'test/platform/log-events.test.ts',
];
/** These need as much of the machine as processes: lost connections, crowds, and months of virtual time. */
const costly = [
  'test/faults/lost-connections.test.ts',
  'test/webhooks/deliveries/faults.test.ts',
  'test/webhooks/endpoints/waiting-deliveries.test.ts',
  'test/workflows/anchor-days.test.ts',
  'test/workflows/delegation-year.test.ts',
  'test/workflows/issuer-key-months.test.ts',
  'test/workflows/virtual-days.test.ts',
  'test/workflows/virtual-months.test.ts',
];
/** The processes that `npm test` starts, too. */
const smoke = [
  'test/app/local/scripts.test.ts',
  'test/deploy/executable.test.ts',
  'test/documentation/walks.test.ts',
  'test/packages/receiver/package.test.ts',
];

const { pure, database, temporal, processes } = sortByNeed(join(import.meta.dirname, 'test'));
const cores = availableParallelism();
// Tests wait more than they compute, for timers and servers: four files at a time left a sixth of two cores idle.
const lanes = Math.max(6, cores);
const postgres = ['test/setup/postgres.ts'];
const servers = [...postgres, 'test/setup/temporal.ts'];
const all = [...servers, 'test/setup/build.mjs'];

/** What all projects have. */
const common: TestProjectInlineConfiguration['test'] = {
  pool: 'forks',
  // Room for short-lived objects: collecting them was a tenth of the processor time.
  execArgv: ['--max-semi-space-size=64'],
  // A file leaves nothing behind but its modules: loading them anew for each file took a third of a run.
  isolate: false,
  // What an earlier run has transformed is not transformed again.
  experimental: { fsModuleCache: true },
  setupFiles: ['test/setup/leave-nothing.ts', 'test/setup/generated-keys.ts'],
  // No busy machine reaches these: they end a case that hangs.
  testTimeout: 2 * HANG,
  expect: { poll: { timeout: PATIENCE.timeout } },
  hookTimeout: 2 * HANG,
  teardownTimeout: 60_000,
  // Temporal's workers run workflows in the thread of the tests: a thread for each worker cost a tenth of the processor
  // time, and gives up a workflow that a busy machine has stopped for five seconds. Real processes have those threads.
  env: { NODE_ENV: 'test', TZ: 'UTC', TEMPORAL_DEBUG: '1' },
  // A file that asks for a server which its project does not start gets a host that nobody has.
  provide: { databaseUrl: 'postgres://not-started.invalid/', temporalAddress: 'not-started.invalid:7233' },
};

/** Does not extend the settings below: Vitest would read this file again for each project. */
const project = (
  name: string,
  groupOrder: number,
  maxWorkers: number,
  test: TestProjectInlineConfiguration['test'],
) => ({ test: { ...common, ...test, name, maxWorkers, sequence: { groupOrder } } });

export default defineConfig({
  test: {
    reporters: ['default', './test/setup/slowest-cases.ts', './scripts/failed-cases.mjs'],
    sequence: { sequencer: LongestFirst },
    projects: [
      project('sources', 0, cores, { include: sources }),
      // Threads begin sooner than processes, and take no flags of V8. One more than cores, while another waits for a timer.
      project('pure', 0, cores + 1, { include: pure, exclude: sources, pool: 'threads', execArgv: [] }),
      // One queue, so that no project waits for the slowest file of another.
      project('database', 1, lanes, { include: database, exclude: costly, globalSetup: postgres }),
      project('temporal', 1, lanes, { include: temporal, exclude: costly, globalSetup: servers }),
      project('smoke', 1, lanes, { include: smoke, globalSetup: all }),
      project('processes', 1, lanes, { include: processes, exclude: smoke, globalSetup: all }),
      project('costly', 1, lanes, { include: costly, globalSetup: servers }),
      // `npm run test:fuzz` names the seconds; no other run has it.
      ...(process.env.FUZZ_SECONDS === undefined ? [] : [fuzz()]),
    ],
  },
});

function fuzz() {
  const folders = ['src', 'packages'].map((folder) => join(import.meta.dirname, folder));
  return {
    ...project('fuzz', 0, 1, { include: ['test/fuzz/explore.ts'] }),
    plugins: [countBranches(folders)],
  };
}
