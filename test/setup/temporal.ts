// A real Temporal server for the tests of a run, on a free port; TEST_TEMPORAL_ADDRESS names one to use instead.
import { resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findFreePort } from '../../src/app/local/ports.ts';
import { startTemporal } from '../../src/app/local/temporal.ts';
import { obtainTemporal } from '../../src/app/local/temporal-program.ts';
import { awaitTemporal } from '../../src/app/local/temporal-ready.ts';
import { inRunFolder, say } from './run-folder.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** host:port of a Temporal server; its namespace has the service's search attributes. */
    temporalAddress: string;
    temporalNamespace: string;
  }
}

const NAMESPACE = 'countersign';

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

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  project.provide('temporalNamespace', NAMESPACE);
  const given = process.env.TEST_TEMPORAL_ADDRESS;
  if (given) {
    await awaitTemporal({ address: given, namespace: NAMESPACE });
    project.provide('temporalAddress', given);
    return undefined;
  }
  return await inRunFolder(async (dataDir, keeper) => {
    const binFolder = resolve('.data', 'bin');
    const server = await startTemporal({
      program: await obtainTemporal({ binFolder, path: process.env.PATH ?? '', say }),
      dataDir,
      port: await findFreePort(),
      uiPort: null,
      namespace: NAMESPACE,
      inMemory: true,
      dynamicConfig: TEST_SERVER,
      keeper,
    });
    // The next project of the run finds it.
    process.env.TEST_TEMPORAL_ADDRESS = server.address;
    project.provide('temporalAddress', server.address);
    return server.stop;
  });
}
