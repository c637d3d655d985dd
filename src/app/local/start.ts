// `npm start`: runs the whole service on one machine until it is stopped. No process remains after any kind of end.
// docs/decisions/0041-local-stack.md
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Config } from '../../platform/config.ts';
import { connectionBudget } from '../../platform/database/database.ts';
import type { PreparedTenant } from './demo-tenant.ts';
import { requireRoom } from './disk-space.ts';
import { listenForEnd } from './halt.ts';
import { describeStack, type Invitation, invite, urlOfView, viewsOf } from './invitation.ts';
import { createKeeper, type Keeper, takeDataFolder } from './keeper.ts';
import { obtainKey } from './kept-key.ts';
import { asDiskFull, LocalStackError } from './local-stack-error.ts';
import type { Part } from './part.ts';
import { requirePort } from './ports.ts';
import { type LocalDatabase, startPostgres } from './postgres.ts';
import { writePrivateFile } from './private-file.ts';
import { startRole } from './role-part.ts';
import type { RunningStack } from './running-stack.ts';
import { startTemporal } from './temporal.ts';
import { obtainTemporal } from './temporal-program.ts';
import { useExternalTemporal } from './temporal-ready.ts';

export type LocalStackOptions = {
  readonly config: Config;
  /** File of the command line, which also runs the roles `api` and `worker`. */
  readonly main: string;
  /** Variables of this process, which the roles receive too. */
  readonly environment: NodeJS.ProcessEnv;
  readonly migrate: (database: LocalDatabase, keys: { readonly AUDIT_KEY: string }) => Promise<unknown>;
  /** Runs before the roles, with their settings; creates the tenant `demo` and its file. */
  readonly prepare: (environment: NodeJS.ProcessEnv) => Promise<PreparedTenant>;
  readonly say: (line: string) => void;
  /** Called when the stack is ready; replaces the lines for a terminal. */
  readonly onReady?: ((stack: ReturnType<typeof describeStack>) => void) | undefined;
};

/** What the steps of a start share: `keep` stops a part at the end of the stack, and its death ends the stack. */
type Starting = LocalStackOptions & {
  readonly keeper: Keeper;
  /** Where commands in the same clone find the stack. */
  readonly runFile: string;
  readonly signal: AbortSignal;
  readonly keep: <Kind extends Part>(starting: Promise<Kind>) => Promise<Kind>;
};

/**
 * Runs the stack until a signal, until a part ends, or until the process that started it ends.
 * @returns after an ordered stop; the exit code is then 1 if a part had ended
 * @throws LocalStackError with one line for the operator, and the errors of `migrate` and `prepare`, after all
 *   processes of the stack have ended
 */
export async function runLocalStack(options: LocalStackOptions): Promise<void> {
  const { dataDir } = options.config;
  await requireRoom(dataDir, 64);
  // Files of all parts are for this user alone. The data folder is there: user postgres has to enter it.
  process.umask(0o077);
  try {
    await supervise(options);
  } catch (error) {
    throw asDiskFull(error instanceof Error ? error.message : '', dataDir) ?? error;
  }
}

async function supervise(options: LocalStackOptions): Promise<void> {
  const { config, say } = options;
  const file = join(config.dataDir, 'parts.json');
  const runFile = join(config.dataDir, 'run.json');
  const left = await takeDataFolder(file);
  if (left.length > 0) say(`Ended what an earlier start left running: ${left.join(', ')}.`);
  rmSync(runFile, { force: true });
  const keeper = createKeeper({ file, remove: [runFile] });
  const force = () => {
    keeper.force();
    process.exit(130);
  };
  const end = listenForEnd({ say, force });
  const parts: Part[] = [];
  let isStopping = false;
  const keep = async <Kind extends Part>(starting: Promise<Kind>) => {
    const part = await starting;
    parts.push(part);
    void part.exited.then((reason) => {
      if (!isStopping) end.end(reason);
    });
    return part;
  };
  try {
    await bringUp({ ...options, keeper, keep, runFile, signal: end.signal });
    if (!end.signal.aborted) await once(end.signal, 'abort');
  } catch (error) {
    // An error after a stop comes from the interrupted step, so it is no failure.
    if (!end.signal.aborted) throw error;
  } finally {
    isStopping = true;
    for (const part of parts.sort((a, b) => a.end.order - b.end.order)) await part.stop();
    rmSync(runFile, { force: true });
    await keeper.close();
    end.close();
  }
  say('Stopped.');
  if (end.signal.reason instanceof LocalStackError) process.exitCode = 1;
}

/** Starts all parts in order. */
async function bringUp(starting: Starting): Promise<void> {
  const { config, environment, say, keeper, signal, keep } = starting;
  await requirePorts(config);
  // In this order: a new folder has no master key yet, whose holder might have signed its log.
  const AUDIT_KEY = environment.AUDIT_KEY || (await obtainKey('AUDIT_KEY', config.dataDir));
  const MASTER_KEY = environment.MASTER_KEY || (await obtainKey('MASTER_KEY', config.dataDir));
  const keys = { MASTER_KEY, AUDIT_KEY };
  const [temporal, database] = await both(runTemporal(starting), runDatabase(starting));
  signal.throwIfAborted();
  await starting.migrate(database, keys);
  signal.throwIfAborted();
  const databaseUrl = database.service?.url ?? database.url;
  const settings = {
    ...environment,
    // Who tries the service reads between two commands, for longer than a token of a deployment lives.
    ACCESS_TOKEN_LIFETIME: environment.ACCESS_TOKEN_LIFETIME || '3600',
    COUNTERSIGN_LOCAL: '1',
    DATA_DIR: config.dataDir,
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporal,
    TEMPORAL_NAMESPACE: config.temporal.namespace,
    ...keys,
  };
  const { lines, consoleLink } = await starting.prepare(settings);
  for (const line of lines) say(line);
  signal.throwIfAborted();
  const metrics = metricsPorts(config);
  const run = (role: 'api' | 'worker') =>
    keep(
      startRole({
        role,
        main: starting.main,
        environment: { ...settings, METRICS_PORT: String(metrics[role]) },
        keeper,
        signal,
      }),
    );
  await both(run('api'), run('worker'));
  signal.throwIfAborted();
  const isOurs = config.temporal.address === undefined;
  const stack: RunningStack = {
    database_url: databaseUrl,
    ports: {
      api: config.port,
      temporal: isOurs ? config.temporal.port : null,
      temporal_ui: isOurs ? config.temporal.uiPort : null,
    },
  };
  await writePrivateFile(starting.runFile, `${JSON.stringify(stack, null, 2)}\n`);
  announce(starting, consoleLink, performance.now() / 1_000);
}

/** Waits for both, so that none is still starting when the other has failed. @throws the first failure */
async function both<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second]);
  return await Promise.all([first, second]);
}

async function runTemporal({ config, environment, say, keeper, signal, keep }: Starting): Promise<string> {
  const { dataDir, temporal } = config;
  const { address, port, uiPort, namespace } = temporal;
  if (address !== undefined) return await useExternalTemporal({ ...temporal, address }, { say, signal });
  const path = environment.PATH ?? '';
  const program = await obtainTemporal({ binFolder: join(dataDir, 'bin'), path, say, signal });
  const server = startTemporal({ program, dataDir, port, uiPort, namespace, keeper, signal });
  return (await keep(server)).address;
}

async function runDatabase({ config, say, keeper, signal, keep }: Starting): Promise<LocalDatabase> {
  const { databaseUrl: url, dataDir, databasePool } = config;
  if (url !== undefined) return { url };
  const maxConnections = connectionBudget(databasePool) * 2 + 20;
  return await keep(startPostgres({ dataDir, maxConnections, keeper, signal, log: say }));
}

/** The ports on which worker and api serve their metrics; 0: none. */
function metricsPorts({ metricsPort: worker }: Config) {
  return { worker, api: worker === 0 ? 0 : worker + 1 };
}

async function requirePorts(config: Config): Promise<void> {
  const { host, port, metricsHost, temporal } = config;
  const metrics = metricsPorts(config);
  const local = { host: '127.0.0.1' };
  const needed = [
    { host, port, variable: 'PORT', part: 'the API' },
    { host: metricsHost, port: metrics.worker, variable: 'METRICS_PORT', part: 'the worker' },
    { host: metricsHost, port: metrics.api, variable: 'METRICS_PORT', part: 'the API' },
    { ...local, port: temporal.port, variable: 'TEMPORAL_PORT', part: 'Temporal' },
    { ...local, port: temporal.uiPort, variable: 'TEMPORAL_UI_PORT', part: "Temporal's Web UI" },
  ];
  for (const one of needed) {
    const isOurs = temporal.address === undefined || !one.variable.startsWith('TEMPORAL_');
    if (isOurs && one.port !== 0) await requirePort(one);
  }
}

/** Tells the operator, or the program that asked, where the parts are. */
function announce({ config, say, onReady }: Starting, consoleLink: string | null, seconds: number): void {
  const here = (path: string) => {
    const short = relative(process.cwd(), path);
    return short.startsWith('..') ? path : short;
  };
  const { uiUrl, namespace, address, variables } = config.temporal;
  // The Web UI of a third-party server has an address only if the settings name it.
  const hasUi = address === undefined || variables.TEMPORAL_UI_URL !== undefined;
  const temporalUi = hasUi ? `${uiUrl}/namespaces/${namespace}/workflows` : null;
  const views = temporalUi === null ? [] : viewsOf(config.defaultTenant ?? 'demo');
  const stack: Invitation = {
    seconds,
    publicUrl: config.publicUrl,
    temporalUi,
    views: views.map((view) => ({ name: view.name, url: urlOfView(temporalUi ?? '', view) })),
    metrics: Object.values(metricsPorts(config)).flatMap((port) =>
      port === 0 ? [] : [`http://${config.metricsHost}:${port}/metrics`],
    ),
    consoleLink,
    credentials: here(join(config.dataDir, 'demo-tenant.json')),
    dataDir: here(config.dataDir),
  };
  if (onReady === undefined) for (const line of invite(stack)) say(line);
  else onReady(describeStack(stack));
}
