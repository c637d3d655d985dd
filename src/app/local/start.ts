// `npm start`: runs the whole service on one machine until it is stopped. No process remains after any kind of end.
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Config } from '../../platform/config.ts';
import { urlOfView, viewsAt } from '../../platform/temporal/views.ts';
import type { PreparedTenant } from './demo-tenant.ts';
import { requireRoom } from './disk-space.ts';
import { listenForEnd } from './halt.ts';
import { describeStack, type Invitation, invite } from './invitation.ts';
import { createKeeper, endLeftovers, type Keeper } from './keeper.ts';
import { asDiskFull } from './local-stack-error.ts';
import { type DataFolderLock, lockDataFolder } from './lock.ts';
import { obtainMasterKey } from './master-key.ts';
import { requirePort } from './ports.ts';
import type { LocalDatabase } from './postgres.ts';
import { createRunFile } from './run-file.ts';
import { createStateFiles } from './state-file.ts';
import { createSupervisor, metricsPorts, type Supervisor } from './supervisor.ts';
import { useExternalTemporal } from './temporal-external.ts';
import { obtainTemporal } from './temporal-program.ts';

export type LocalStackOptions = {
  readonly config: Config;
  /** File of the command line, which also runs the roles `api` and `worker`. */
  readonly main: string;
  /** Variables of this process, which the roles receive too. */
  readonly environment: NodeJS.ProcessEnv;
  readonly migrate: (database: LocalDatabase, masterKey: string) => Promise<unknown>;
  /** Runs before the roles, with their settings; creates the tenant `demo` and its file. */
  readonly prepare: (environment: NodeJS.ProcessEnv) => Promise<PreparedTenant>;
  readonly say: (line: string) => void;
  /** Called when the stack is ready; replaces the lines for a terminal. */
  readonly onReady?: ((stack: ReturnType<typeof describeStack>) => void) | undefined;
};

/**
 * Runs the stack until a signal, or until the process that started it ends.
 * @returns after an ordered stop
 * @throws LocalStackError with one line for the operator, and the errors of `migrate` and `prepare`, after all
 *   processes of the stack have ended
 */
export async function runLocalStack(options: LocalStackOptions): Promise<void> {
  const { dataDir } = options.config;
  await requireRoom(dataDir, 64);
  try {
    const lock = await lockDataFolder(dataDir, options.say);
    await supervise(options, lock).finally(lock.release);
  } catch (error) {
    throw asDiskFull(error instanceof Error ? error.message : '', dataDir) ?? error;
  }
}

async function supervise(options: LocalStackOptions, lock: DataFolderLock): Promise<void> {
  const { config, main, say } = options;
  const partsFile = join(config.dataDir, 'parts.json');
  const left = await endLeftovers(partsFile);
  if (left.length > 0) say(`Ended what an earlier start left running: ${left.join(', ')}.`);
  const files = createStateFiles({ folder: config.dataDir, say });
  const runFile = createRunFile(config.dataDir, files);
  rmSync(runFile.file, { force: true });
  const keeper = createKeeper({ file: partsFile, remove: [runFile.file], files });
  const force = () => {
    keeper.force();
    runFile.remove();
    process.exit(130);
  };
  const end = listenForEnd({ say, force });
  const supervisor = createSupervisor({ config, main, keeper, runFile, say });
  try {
    await bringUp(options, supervisor, keeper, end.signal);
    await aborted(end.signal);
  } catch (error) {
    // An error after a stop comes from the interrupted step, so it is no failure.
    if (!end.signal.aborted) throw error;
  } finally {
    lock.stopping();
    await supervisor.stop();
    await keeper.close();
    end.close();
    if (end.signal.aborted) say('Stopped.');
  }
}

async function bringUp(
  options: LocalStackOptions,
  supervisor: Supervisor,
  keeper: Keeper,
  signal: AbortSignal,
): Promise<void> {
  const { config, environment, say } = options;
  const began = performance.now();
  await requirePorts(config);
  const masterKey = environment.MASTER_KEY || (await obtainMasterKey(config.dataDir));
  const given: LocalDatabase | undefined =
    config.databaseUrl === undefined ? undefined : { url: config.databaseUrl };
  const [temporal, postgres] = await Promise.allSettled([
    runTemporal(options, supervisor, keeper, signal),
    given ?? supervisor.runPostgres(),
  ]);
  signal.throwIfAborted();
  if (temporal.status === 'rejected') throw temporal.reason;
  if (postgres.status === 'rejected') throw postgres.reason;
  const databaseUrl = postgres.value.service?.url ?? postgres.value.url;
  supervisor.publish(databaseUrl);
  await options.migrate(postgres.value, masterKey);
  signal.throwIfAborted();
  const settings = {
    ...environment,
    // Who tries the service reads between two commands, for longer than a token of a deployment lives.
    ACCESS_TOKEN_LIFETIME: environment.ACCESS_TOKEN_LIFETIME || '3600',
    COUNTERSIGN_LOCAL: '1',
    DATA_DIR: config.dataDir,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal.value,
    TEMPORAL_NAMESPACE: config.temporal.namespace,
    MASTER_KEY: masterKey,
  };
  const { lines, consoleLink } = await options.prepare(settings);
  for (const line of lines) say(line);
  signal.throwIfAborted();
  await supervisor.runRoles(settings);
  signal.throwIfAborted();
  const here = (path: string) => {
    const short = relative(process.cwd(), path);
    return short.startsWith('..') ? path : short;
  };
  const temporalUi = temporalUiOf(config);
  const stack: Invitation = {
    seconds: (performance.now() - began) / 1_000,
    publicUrl: config.publicUrl,
    temporalUi,
    views: temporalUi === null ? [] : viewsOf(temporalUi, config.defaultTenant ?? 'demo'),
    metrics: Object.values(metricsPorts(config)).flatMap((port) =>
      port === 0 ? [] : [`http://${config.metricsHost}:${port}/metrics`],
    ),
    consoleLink,
    credentials: here(join(config.dataDir, 'demo-tenant.json')),
    dataDir: here(config.dataDir),
  };
  if (options.onReady === undefined) for (const line of invite(stack)) say(line);
  else options.onReady(describeStack(stack));
}

function viewsOf(workflowsUrl: string, tenantSlug: string): Invitation['views'] {
  return viewsAt(Date.now(), tenantSlug).map((view) => ({
    name: view.name,
    url: urlOfView(workflowsUrl, view),
  }));
}

/** The Web UI of a third-party server has an address only if the settings name it. */
function temporalUiOf({ temporal: { address, uiUrl, namespace, variables } }: Config): string | null {
  if (address !== undefined && variables.TEMPORAL_UI_URL === undefined) return null;
  return `${uiUrl}/namespaces/${namespace}/workflows`;
}

async function requirePorts(config: Config): Promise<void> {
  const { host, port, metricsHost, temporal } = config;
  await requirePort({ host, port, variable: 'PORT', part: 'the API' });
  for (const [role, own] of Object.entries(metricsPorts(config)))
    if (own !== 0)
      await requirePort({
        host: metricsHost,
        port: own,
        variable: 'METRICS_PORT',
        part: role === 'api' ? 'the API' : 'the worker',
      });
  const host4 = '127.0.0.1';
  if (temporal.address !== undefined) return;
  await requirePort({ host: host4, port: temporal.port, variable: 'TEMPORAL_PORT', part: 'Temporal' });
  await requirePort({
    host: host4,
    port: temporal.uiPort,
    variable: 'TEMPORAL_UI_PORT',
    part: "Temporal's Web UI",
  });
}

async function runTemporal(
  { config, environment, say }: LocalStackOptions,
  supervisor: Supervisor,
  keeper: Keeper,
  signal: AbortSignal,
): Promise<string> {
  if (config.temporal.address !== undefined)
    return await useExternalTemporal({ temporal: config.temporal, say, signal });
  const binFolder = join(config.dataDir, 'bin');
  const program = await obtainTemporal({ binFolder, path: environment.PATH ?? '', say, keeper, signal });
  signal.throwIfAborted();
  return await supervisor.runTemporal(program);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
