// Once a run: a real Postgres and a real Temporal server for all tests, in a folder that goes away, on free ports.
// TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS name servers to use instead. Never touches the data of `npm start`.
import { chmod, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { createKeeper, type Keeper } from '../../src/app/local/keeper.ts';
import { findFreePort } from '../../src/app/local/ports.ts';
import { startPostgres } from '../../src/app/local/postgres.ts';
import { startTemporal } from '../../src/app/local/temporal.ts';
import { obtainTemporal } from '../../src/app/local/temporal-program.ts';
import { awaitTemporal } from '../../src/app/local/temporal-ready.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connection string of a superuser, who may create databases. */
    databaseUrl: string;
    /** host:port of a Temporal server; its namespace has the service's search attributes. */
    temporalAddress: string;
    temporalNamespace: string;
  }
}

const NAMESPACE = 'countersign';

/** In bytes; a container often has 64 MB, and the databases of a run some 1 GB. */
const MEMORY_NEEDED = 4 * 2 ** 30;

/**
 * Namespaces of single tests are known sooner, a queue that few poll is one partition, and a worker gets the next quick
 * activity with the answer to its workflow task: a fifth of the server's processor time.
 */
const TEST_SERVER = [
  'system.enableActivityEagerExecution=true',
  'system.namespaceCacheRefreshInterval="200ms"',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
];

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(await quickestFolder(), 'countersign-test-'));
  await chmod(dataDir, 0o755);
  const keeper = createKeeper({ file: join(dataDir, 'parts.json'), remove: [dataDir] });
  const parts: { stop(): Promise<void> }[] = [];
  const end = async () => {
    await Promise.all(parts.map((part) => part.stop()));
    await keeper.close();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const started = await Promise.allSettled([database(dataDir, keeper), temporal(dataDir, keeper)]);
    for (const part of started) if (part.status === 'fulfilled') parts.push(part.value);
    const failed = started.find((part) => part.status === 'rejected');
    if (failed) throw failed.reason;
    const [postgres, server] = started.map((part) => (part.status === 'fulfilled' ? part.value.address : ''));
    project.provide('databaseUrl', postgres ?? '');
    project.provide('temporalAddress', server ?? '');
    project.provide('temporalNamespace', NAMESPACE);
    return end;
  } catch (error) {
    await end();
    throw error;
  }
}

/** Hundreds of databases of 700 files each: memory makes one in a tenth of the processor time that a disk takes. */
async function quickestFolder(): Promise<string> {
  const memory = '/dev/shm';
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize > MEMORY_NEEDED ? memory : tmpdir();
}

async function database(dataDir: string, keeper: Keeper) {
  const given = process.env.TEST_DATABASE_URL;
  if (given) return { address: given, stop: async () => undefined };
  const postgres = await startPostgres({ dataDir, durable: false, maxConnections: 400, keeper, log: say });
  const stop = async () => {
    await postgres.stop();
    await rm(postgres.cluster, { recursive: true, force: true });
  };
  return { address: postgres.url, stop };
}

async function temporal(dataDir: string, keeper: Keeper) {
  const given = process.env.TEST_TEMPORAL_ADDRESS;
  if (given) {
    await awaitTemporal({ address: given, namespace: NAMESPACE });
    return { address: given, stop: async () => undefined };
  }
  const binFolder = resolve('.data', 'bin');
  const program = await obtainTemporal({ binFolder, path: process.env.PATH ?? '', say });
  const server = await startTemporal({
    program,
    dataDir,
    port: await findFreePort(),
    uiPort: null,
    namespace: NAMESPACE,
    inMemory: true,
    dynamicConfig: TEST_SERVER,
    keeper,
  });
  return { address: server.address, stop: server.stop };
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
