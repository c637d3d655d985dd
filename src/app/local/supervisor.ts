// Starts all parts of a local stack in order, restarts those that die, keeps run.json current, and stops the parts.
import type { Config } from '../../platform/config.ts';
import { connectionBudget } from '../../platform/database/database.ts';
import type { ConnectionDistributor } from './connection-distributor.ts';
import { createConnectionDistributor } from './connection-distributor.ts';
import type { Keeper } from './keeper.ts';
import { createKeptPart, type KeptPart } from './kept-part.ts';
import { metricsPorts } from './metrics-ports.ts';
import { type LocalDatabase, startPostgres } from './postgres.ts';
import { type RoleName, startRole } from './role-part.ts';
import type { RunFile, RunState } from './run-file.ts';
import { startTemporal } from './temporal.ts';
import { createTemporalProbe, endWhenSilent } from './temporal-watch.ts';

/**
 * @param options.main file of the command line, which the roles run
 * @param options.runFile written once the database is ready
 * @returns each step of a start, and `stop`, which ends the parts in reverse order
 */
export function createSupervisor(options: {
  config: Config;
  main: string;
  keeper: Keeper;
  runFile: RunFile;
  say: (line: string) => void;
}) {
  const { config, main, keeper, runFile, say } = options;
  const parts = {
    api: [] as KeptPart[],
    worker: [] as KeptPart[],
    temporal: [] as KeptPart[],
    postgres: [] as KeptPart[],
  };
  const pids = {
    api: [] as (number | null)[],
    worker: [] as (number | null)[],
    temporal: null as number | null,
    postgres: null as number | null,
  };
  const portOfFirst = (name: RoleName) => metricsPorts(config).find(({ role }) => role === name)?.port ?? 0;
  let ports: RunState['ports'] = {
    api: config.port,
    temporal: null,
    temporal_ui: null,
    postgres: null,
    metrics: portOfFirst('worker'),
    metrics_api: portOfFirst('api'),
  };
  let databaseUrl: string | null = null;
  let distributor: ConnectionDistributor | undefined;

  function changed(): void {
    if (databaseUrl === null) return;
    const up = (list: (number | null)[]) => list.filter((pid) => pid !== null);
    runFile.write({ ...pids, api: up(pids.api), worker: up(pids.worker), ports, database_url: databaseUrl });
  }

  async function runRole(role: RoleName, index: number, environment: NodeJS.ProcessEnv): Promise<void> {
    const part = createKeptPart({
      name: role === 'api' ? 'the API' : 'the worker',
      start: (signal) =>
        startRole({
          signal,
          role,
          main,
          environment,
          keeper,
          distributor: role === 'api' ? distributor : undefined,
        }),
      onChange: (pid) => {
        pids[role][index] = pid;
        changed();
      },
      say,
    });
    parts[role].push(part);
    await part.begin();
  }

  return {
    /** @returns the embedded Postgres, which keeps the port of its last run if that is free */
    async runPostgres(): Promise<LocalDatabase> {
      let port: number | undefined;
      const each = connectionBudget(config.databasePool);
      const maxConnections = each * (config.apiProcesses + config.workerProcesses) + 20;
      let database: LocalDatabase = { url: '' };
      const part = createKeptPart({
        name: 'Postgres',
        start: async (signal) => {
          const running = await startPostgres({
            dataDir: config.dataDir,
            port,
            maxConnections,
            keeper,
            signal,
            log: say,
          });
          if (port !== undefined && running.port !== port) {
            await running.stop();
            throw new Error(`Port ${port} of Postgres went to another program`);
          }
          port = running.port;
          database = { url: running.url, service: running.service };
          ports = { ...ports, postgres: port };
          return running;
        },
        onChange: (pid) => {
          pids.postgres = pid;
          changed();
        },
        say,
      });
      parts.postgres.push(part);
      await part.begin();
      return database;
    },

    /** @returns host:port of the development server */
    async runTemporal(program: string): Promise<string> {
      const { port, uiPort, namespace } = config.temporal;
      const part = createKeptPart({
        name: 'Temporal',
        start: async (signal) => {
          const { dataDir } = config;
          const server = await startTemporal({ signal, program, dataDir, port, uiPort, namespace, keeper });
          return endWhenSilent(server, createTemporalProbe({ address: server.address, namespace }));
        },
        onChange: (pid) => {
          pids.temporal = pid;
          changed();
        },
        say,
      });
      parts.temporal.push(part);
      await part.begin();
      ports = { ...ports, temporal: port, temporal_ui: uiPort };
      return `127.0.0.1:${port}`;
    },

    /** Writes run.json, and from then on at each change. */
    publish(url: string): void {
      databaseUrl = url;
      changed();
    },

    /** Starts the api and worker processes, each with a separate metrics port. */
    async runRoles(environment: NodeJS.ProcessEnv): Promise<void> {
      if (config.apiProcesses > 1)
        distributor = await createConnectionDistributor({ host: config.host, port: config.port });
      const started = metricsPorts(config).map(({ role, index, port }) =>
        runRole(role, index, { ...environment, METRICS_PORT: String(port) }),
      );
      await Promise.all(started);
    },

    /** Stops in this order: new connections, api, workers, Temporal, Postgres. */
    async stop(): Promise<void> {
      distributor?.close();
      for (const kind of ['api', 'worker', 'temporal', 'postgres'] as const) {
        await Promise.allSettled(parts[kind].map((part) => part.stop()));
      }
      runFile.remove();
    },
  };
}

export type Supervisor = ReturnType<typeof createSupervisor>;
