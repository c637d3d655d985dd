// Starts all parts of a local stack in order, restarts those that die, keeps run.json current, and stops the parts.
import type { Config } from '../../platform/config.ts';
import { connectionBudget } from '../../platform/database/database.ts';
import type { Keeper } from './keeper.ts';
import { createKeptPart, type KeptPart } from './kept-part.ts';
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
  const metrics = metricsPorts(config);
  let ports: RunState['ports'] = {
    api: config.port,
    temporal: null,
    temporal_ui: null,
    postgres: null,
    metrics: metrics.worker,
    metrics_api: metrics.api,
  };
  let databaseUrl: string | null = null;

  function changed(): void {
    if (databaseUrl === null) return;
    const up = (list: (number | null)[]) => list.filter((pid) => pid !== null);
    runFile.write({ ...pids, api: up(pids.api), worker: up(pids.worker), ports, database_url: databaseUrl });
  }

  async function runRole(role: RoleName, environment: NodeJS.ProcessEnv): Promise<void> {
    const part = createKeptPart({
      name: role === 'api' ? 'the API' : 'the worker',
      start: (signal) =>
        startRole({
          signal,
          role,
          main,
          environment: { ...environment, METRICS_PORT: String(metrics[role]) },
          keeper,
        }),
      onChange: (pid) => {
        pids[role][0] = pid;
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
      const maxConnections = each * 2 + 20;
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

    /** Starts api and worker, each with a separate metrics port. */
    async runRoles(environment: NodeJS.ProcessEnv): Promise<void> {
      await Promise.all([runRole('api', environment), runRole('worker', environment)]);
    },

    /** Stops in this order: api, worker, Temporal, Postgres. */
    async stop(): Promise<void> {
      for (const kind of ['api', 'worker', 'temporal', 'postgres'] as const) {
        await Promise.allSettled(parts[kind].map((part) => part.stop()));
      }
      runFile.remove();
    },
  };
}

/** The ports on which worker and api serve their metrics; 0: none. */
export function metricsPorts({ metricsPort: worker }: Config): Readonly<Record<RoleName, number>> {
  return { worker, api: worker === 0 ? 0 : worker + 1 };
}

export type Supervisor = ReturnType<typeof createSupervisor>;
