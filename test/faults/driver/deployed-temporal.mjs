// The Temporal server of a deployment: the release of docker-compose.yml, built by Go, its four services in one
// process, its store in the stack's own Postgres under a role of its own.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { startPart } from '#dist/src/app/local/part.js';
import { awaitTemporal } from '#dist/src/app/local/temporal-ready.js';
import { findLowPort } from './ports.mjs';

const run = promisify(execFile);
const MODULE = 'go.temporal.io/server';
/** @type {import('#dist/src/app/local/processes.js').PartEnd} */
const END = { order: 3, grace: 15_000, signals: ['SIGTERM', 'SIGKILL'] };
/** The databases and their schemas, as the service `temporal-schema` of docker-compose.yml makes them. */
const DATABASES = { temporal: 'temporal', temporal_visibility: 'visibility' };

/**
 * Builds the server and its schema tool into `.data/bin`, unless they are there; that takes minutes, and needs Go.
 * @returns absolute paths: `server`, `tool` (temporal-sql-tool) and `schemas`, the folder of the schemas
 */
export async function obtainDeployedTemporal({ say }) {
  const [, version] = /temporalio\/server:([\d.]+)/.exec(
    await readFile(resolve('docker-compose.yml'), 'utf8'),
  );
  const folder = resolve('.data', 'bin', `temporal-server-${version}`);
  say(`Temporal ${version} as in docker-compose.yml, built by Go`);
  await mkdir(folder, { recursive: true });
  const packages = ['cmd/server', 'cmd/tools/sql'].map((name) => `${MODULE}/${name}@v${version}`);
  await run('go', ['install', ...packages], { env: { ...process.env, GOBIN: folder } });
  const { stdout } = await run('go', ['mod', 'download', '-json', `${MODULE}@v${version}`]);
  return {
    server: join(folder, 'server'),
    tool: join(folder, 'sql'),
    schemas: join(JSON.parse(stdout).Dir, 'schema', 'postgresql', 'v12'),
  };
}

/**
 * @param options `programs` from `obtainDeployedTemporal`; `folder` of the stack, absolute; `port` of the frontend;
 *   `postgres`: `port`, and `query(text)` as the superuser
 * @returns `start()` a server that answers like `startTemporal`, and `lose()` both of its databases
 */
export async function deployTemporal({ programs, folder, port, postgres, namespace, keeper }) {
  const password = randomBytes(18).toString('hex');
  const config = join(folder, 'temporal-config');
  await mkdir(config, { recursive: true });
  await writeFile(
    join(config, 'deployed.yaml'),
    JSON.stringify(await configure({ port, postgresPort: postgres.port, password })),
  );
  await postgres.query(`CREATE ROLE temporal LOGIN PASSWORD '${password}'`);

  const makeDatabases = async () => {
    for (const [name, schema] of Object.entries(DATABASES)) {
      const found = await insist(postgres, `SELECT FROM pg_database WHERE datname = '${name}'`);
      if (found.length > 0) continue;
      await insist(postgres, `CREATE DATABASE ${name} OWNER temporal`);
      const tool = (...args) =>
        run(programs.tool, [
          ...['--plugin', 'postgres12', '--endpoint', '127.0.0.1', '--port', String(postgres.port)],
          ...['--user', 'temporal', '--password', password, '--database', name, ...args],
        ]);
      try {
        await tool('setup-schema', '-v', '0.0');
        await tool('update-schema', '-d', join(programs.schemas, schema, 'versioned'));
      } catch (error) {
        // What has no whole schema is made anew.
        await insist(postgres, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
        throw error;
      }
    }
  };

  const open = async () => {
    await makeDatabases();
    const address = `127.0.0.1:${port}`;
    const part = await startPart({
      name: 'Temporal',
      program: programs.server,
      args: ['--root', folder, '--config', 'temporal-config', '--env', 'deployed', 'start'],
      spawn: {},
      dataDir: folder,
      end: END,
      keeper,
      ready: (_, signal) => awaitTemporal({ address, namespace }, { signal, limit: 120_000 }),
    });
    return { ...part, address };
  };

  return {
    /** Starts it again as the deployment does: it ends when Postgres cannot be reached at its start. */
    start: async () => {
      for (let tries = 1; ; tries += 1) {
        try {
          return await open();
        } catch (error) {
          if (tries === 30) throw error;
          await sleep(1_000);
        }
      }
    },
    lose: async () => {
      for (const name of Object.keys(DATABASES))
        await insist(postgres, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Postgres may be harmed, too, and a connection of the killed server may last for a moment. */
async function insist(postgres, text) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await postgres.query(text);
    } catch (error) {
      if (tries === 120) throw error;
      await sleep(250);
    }
  }
}

/** The configuration that the image makes of docker-compose.yml's variables; JSON is YAML. */
async function configure({ port, postgresPort, password }) {
  const store = (databaseName) => ({
    sql: {
      ...{ pluginName: 'postgres12', databaseName, connectAddr: `127.0.0.1:${postgresPort}` },
      ...{ connectProtocol: 'tcp', user: 'temporal', password },
      ...{ maxConns: 20, maxIdleConns: 20, maxConnLifetime: '1h' },
    },
  });
  const services = {};
  for (const name of ['frontend', 'history', 'matching', 'worker']) {
    const grpcPort = name === 'frontend' ? port : await findLowPort();
    services[name] = { rpc: { grpcPort, membershipPort: await findLowPort(), bindOnIP: '127.0.0.1' } };
  }
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      ...{ defaultStore: 'default', visibilityStore: 'visibility', numHistoryShards: 4 },
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' } },
    services,
    clusterMetadata: {
      ...{ enableGlobalNamespace: false, failoverVersionIncrement: 10 },
      ...{ masterClusterName: 'active', currentClusterName: 'active' },
      clusterInformation: {
        active: {
          ...{ enabled: true, initialFailoverVersion: 1 },
          ...{ rpcName: 'frontend', rpcAddress: `127.0.0.1:${port}` },
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    archival: { history: { state: 'disabled' }, visibility: { state: 'disabled' } },
    publicClient: { hostPort: `127.0.0.1:${port}` },
    dynamicConfigClient: {
      filepath: resolve('deploy', 'temporal', 'dynamicconfig.yaml'),
      pollInterval: '10s',
    },
  };
}
