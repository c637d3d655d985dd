// Runs Temporal's development server for a local stack: one process on 127.0.0.1, with its Web UI.
import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../platform/temporal/names.ts';
import { requireRoom } from './disk-space.ts';
import type { Keeper } from './keeper.ts';
import { LocalStackError } from './local-stack-error.ts';
import { type Part, startPart } from './part.ts';
import { closeFolder } from './private-file.ts';
import type { PartEnd } from './processes.ts';
import { awaitTemporal } from './temporal-ready.ts';

/**
 * The server has one shard, which by default loads new tasks 20 times a second: each step of each workflow would wait
 * for the next load. It has one clock, so no timer needs to be late by the second by which clocks may differ. Under
 * load the list of workflows is brought up to date twice a second, so that a workflow that has ended by then is written
 * into it once: with two rows, that table and its 45 indexes are a third of what a short workflow costs.
 */
const ONE_SHARD = [
  'history.transferProcessorMaxPollRPS=250',
  'history.timerProcessorMaxPollRPS=250',
  'history.visibilityProcessorMaxPollRPS=2',
  'history.visibilityTaskBatchSize=1000',
  'history.timerProcessorMaxTimeShift="1ms"',
] as const;

/**
 * By default the server keeps 128,000 workflows in memory, ended ones too, at 2 KiB each, and 8 MiB of events for other
 * clusters: it grew for hours. A workflow beyond these is read from the file.
 */
const SMALL_CACHES = ['history.hostLevelCacheMaxSize=2000', 'history.xdcCacheMaxSizeBytes=4096'] as const;

/** Nothing is written during a checkpoint, which flushes the file: it comes after 40 MB instead of 4. */
const FILE_PRAGMAS = ['journal_mode=wal', 'synchronous=normal', 'wal_autocheckpoint=10000'] as const;

/** After SIGTERM it ends in about 1.5 s. */
const TEMPORAL_END: PartEnd = { order: 3, grace: 15_000, signals: ['SIGTERM', 'SIGKILL'] };

export type TemporalOptions = {
  program: string;
  /** Absolute path of the data folder for the log and the database. */
  dataDir: string;
  port: number;
  /** Port of the Web UI; null: no Web UI. */
  uiPort: number | null;
  namespace: string;
  /** True in tests: the database is lost at the end of the process. */
  inMemory?: boolean | undefined;
  /** Further dynamic configuration of the server, each `key=value`. */
  dynamicConfig?: readonly string[] | undefined;
  keeper?: Keeper | undefined;
  signal?: AbortSignal | undefined;
};

/** `address` is host:port. */
export type RunningTemporal = Part & { readonly address: string };

/**
 * Starts the server and waits until it has the namespace and the search attributes.
 * @throws LocalStackError with one line for the operator
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const { dataDir, namespace, keeper, signal } = options;
  const folder = join(dataDir, 'temporal');
  await requireRoom(folder, 64, 0o700);
  await closeFolder(folder);
  const address = `127.0.0.1:${options.port}`;
  const part = await startPart({
    name: 'Temporal',
    program: options.program,
    args: argumentsOf(options),
    // A larger heap between garbage collections costs memory and saves processor time.
    spawn: { env: { ...serverEnvironment(), GOGC: '200' } },
    dataDir,
    end: TEMPORAL_END,
    keeper,
    signal,
    ready: async (_, ended) => {
      const state = await awaitTemporal({ address, namespace }, { signal: ended });
      if (state !== 'ok') throw new LocalStackError(`Temporal on ${address} takes no search attributes.`);
    },
  });
  return { ...part, address };
}

function argumentsOf(options: TemporalOptions): string[] {
  const { dataDir, port, uiPort, namespace, inMemory = false, dynamicConfig = [] } = options;
  const dynamic = [
    'system.forceSearchAttributesCacheRefreshOnRead=false',
    'matching.useNewMatcher=true',
    'matching.enableFairness=true',
    ...ONE_SHARD,
    ...SMALL_CACHES,
    ...dynamicConfig,
  ];
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--namespace', namespace],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(inMemory ? [] : ['--db-filename', join(dataDir, 'temporal', 'temporal.db')]),
    ...(inMemory ? [] : FILE_PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma])),
    ...Object.values(SEARCH_ATTRIBUTES).flatMap(({ name, type }) => [
      '--search-attribute',
      `${name}=${inPascalCase(type)}`,
    ]),
    ...dynamic.flatMap((value) => ['--dynamic-config-value', value]),
    ...['--log-level', 'warn', '--log-format', 'json'],
  ];
}

/** `KEYWORD_LIST` is `KeywordList` on the command line. */
function inPascalCase(type: string): string {
  return type.toLowerCase().replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** @returns an environment without TEMPORAL_*, which the program would read as settings of a client */
function serverEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}
