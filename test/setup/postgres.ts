// A real Postgres for the tests of a run, on a free port; TEST_DATABASE_URL names one to use instead.
import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { startPostgres } from '../../src/app/local/postgres.ts';
import { inRunFolder, say } from './run-folder.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** Connection string of a superuser, who may create databases. */
    databaseUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.TEST_DATABASE_URL;
  if (given) {
    project.provide('databaseUrl', given);
    return undefined;
  }
  return await inRunFolder(async (dataDir, keeper) => {
    const postgres = await startPostgres({ dataDir, durable: false, maxConnections: 400, keeper, log: say });
    // The next project of the run finds it.
    process.env.TEST_DATABASE_URL = postgres.url;
    project.provide('databaseUrl', postgres.url);
    return async () => {
      await postgres.stop();
      await rm(postgres.cluster, { recursive: true, force: true });
    };
  });
}
