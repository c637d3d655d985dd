// A Postgres that has failed gives the numbers of transactions that left nothing to others: a process that had read up
// to them still learns what these end.
import { randomUUID } from 'node:crypto';
import { chmodSync } from 'node:fs';
import pg from 'pg';
import { expect, it, onTestFinished, vi } from 'vitest';
import { startPostgres } from '../../../src/app/local/postgres.ts';
import * as store from '../../../src/authentication/tokens/revocation.store.ts';
import type { Revocation } from '../../../src/authentication/tokens/revocation.ts';
import { RevocationReader } from '../../../src/authentication/tokens/revocation-reader.service.ts';
import { migrate } from '../../../src/platform/database/migrate.ts';
import { temporaryFolder } from '../../app/local/temporary-folder.ts';
import { createPatientDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';

async function startServer() {
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o755);
  const start = () => startPostgres({ dataDir, log: () => undefined });
  let running = await start();
  onTestFinished(() => running.stop());
  return {
    url: running.url,
    crash: async () => {
      process.kill(running.pid, 'SIGKILL');
      await running.exited;
      running = await start();
    },
  };
}

/** One statement on a connection that ends with it. */
async function ask<Row extends object>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

it('is read by a process that has read beyond its number before the crash', async () => {
  const server = await startServer();
  await migrate(server.url);
  // By itself Postgres writes a few times a second what nobody waits for.
  await ask(server.url, `ALTER SYSTEM SET wal_writer_delay = '10s'`);
  await ask(server.url, 'SELECT pg_reload_conf()');
  const database = createPatientDatabase({ url: server.url, pool: 2, applicationName: 'test' });
  onTestFinished(() => database.close());
  const revoke = async () => {
    const [row] = await ask<{ xid: string; token: string }>(
      server.url,
      `INSERT INTO revocations (tenant_id, token_id, expires_at) VALUES ($1, $1, now() + interval '1 hour')
       RETURNING xid::text, token_id AS token`,
      [randomUUID()],
    );
    return { xid: BigInt(row?.xid ?? 0), token: row?.token };
  };
  const known: (string | null | undefined)[] = [];
  let polls = 0;
  const reader = new RevocationReader({
    store: {
      ...store,
      readPage: async (...asked) => {
        const page = await store.readPage(...asked);
        polls += 1;
        return page;
      },
    },
    database,
    book: {
      add: (revocations: readonly Revocation[]) => known.push(...revocations.map(({ tokenId }) => tokenId)),
      forget: () => undefined,
    },
    listen: () => undefined,
    onError: () => undefined,
    clock: database.clock,
  });
  reader.start();
  onTestFinished(() => reader.close());
  const first = await revoke();
  await vi.waitFor(() => expect(known).toContain(first.token), PATIENCE);

  // A failed transaction writes nothing that anybody waits for.
  const [lost] = await ask<{ xid: string }>(
    server.url,
    'SELECT pg_current_xact_id()::text AS xid FROM generate_series(1, 1)',
  );
  const read = polls + 2;
  await vi.waitFor(() => expect(polls).toBeGreaterThanOrEqual(read), PATIENCE);
  await server.crash();
  const second = await revoke();
  expect(second.xid, 'the number is given anew').toBeLessThanOrEqual(BigInt(lost?.xid ?? 0));
  // Beyond the lost number, so that the number of the database alone does not show that something was lost.
  await revoke();
  await vi.waitFor(() => expect(known).toContain(second.token), PATIENCE);
});
