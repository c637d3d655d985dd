// A restore to a minute as docs/operations/backup.md says: by a copy and the archived WAL.
import { chmodSync } from 'node:fs';
import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { findUnarchived, readArchive } from '../../src/operations/invariants/cluster.store.ts';
import { readRestoredTo } from '../../src/operations/restores/restore.store.ts';
import { PATIENCE } from '../setup/patience.ts';
import {
  ask,
  commandsIn,
  complete,
  copy,
  createServer,
  restore,
  startBackup,
  stopBackup,
} from './backup-page.ts';

const [toAMinute = ''] = commandsIn('sh', 'To a minute');

it('restores the moment before a loss from a backup and the archived WAL', async () => {
  const server = await createServer();
  const wal = await server.archive();
  const query = <Row extends object>(text: string) => ask<Row>(server.url(), text);
  const asked = {
    query: async <Row extends object>(text: string) => {
      const rows = await query<Row>(text);
      return { rows, rowCount: rows.length };
    },
  };
  const nextXid = async () => {
    const [row] = await query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
    return Number(row?.xid);
  };
  await query(`CREATE ROLE reader LOGIN PASSWORD 'reader'`);
  /** A role without rights, as that of a worker is here. */
  const reader = {
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
      const rows = await ask<Row>(server.url().replace(/\/\/.*@/, '//reader:reader@'), text, values);
      return { rows, rowCount: rows.length };
    },
  };
  await query('CREATE TABLE kept (what text)');
  await query('CREATE TABLE events (id uuid, created_at timestamptz)');
  await query('CREATE TABLE audit_log (id uuid, xid xid8, occurred_at timestamptz)');

  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  await client.query(startBackup);
  server.shell(copy);
  const { rows } = await client.query<{ labelfile: string }>(stopBackup);
  server.shell(complete, { LABEL: rows[0]?.labelfile ?? '' });
  await client.end();

  await query(`INSERT INTO kept VALUES ('after the backup')`);
  // On a busy machine the backup's label would else be the file that cannot be archived.
  const ready = `SELECT name FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'`;
  await vi.waitFor(async () => expect(await query(ready)).toEqual([]), PATIENCE);
  chmodSync(wal, 0o500);
  await query('SELECT pg_switch_wal()');
  const isSome = expect.toSatisfy((count: number) => count > 0);
  const failing = { failures: isSome, waiting: isSome };
  await vi.waitFor(async () => expect(await readArchive(reader)).toMatchObject(failing), PATIENCE);
  const breach = { count: isSome, named: expect.stringMatching(/^[0-9A-F]{24}$/), seconds: isSome };
  expect(await findUnarchived(reader, 0)).toMatchObject(breach);
  const waiting = (await readArchive(reader))?.waiting ?? Number.NaN;
  await query('SELECT pg_current_xact_id(), pg_switch_wal()');
  await query('SELECT pg_current_xact_id()');
  expect(await readArchive(reader)).toMatchObject({ ...failing, waiting: waiting + 1 });
  chmodSync(wal, 0o700);
  // The next file wakes the archiver, which otherwise rests for a minute after some tries.
  await query('SELECT pg_current_xact_id(), pg_switch_wal()');
  const well = { waiting: 0, seconds: expect.toSatisfy((seconds: number) => seconds >= 0) };
  await vi.waitFor(async () => expect(await readArchive(reader)).toMatchObject(well), PATIENCE);
  expect(await findUnarchived(reader, 0)).toMatchObject({ count: 0, named: null });
  const [before] = await query<{ at: Date }>('SELECT clock_timestamp() AS at');
  await query(`INSERT INTO kept VALUES ('not archived yet')`);
  const [moment] = await query<{ to: string; at: Date }>(
    'SELECT clock_timestamp()::text AS to, clock_timestamp() AS at',
  );
  await query('DELETE FROM kept');
  const lost = await nextXid();
  await server.stop();

  server.shell(`${restore}${toAMinute}`, { WAL: wal, TO: moment?.to ?? '' });
  await server.start();
  const isRecovering = () => query<{ yes: boolean }>('SELECT pg_is_in_recovery() AS yes');
  await vi.waitFor(async () => expect(await isRecovering()).toEqual([{ yes: false }]), PATIENCE);
  expect(await query('SELECT what FROM kept ORDER BY what')).toEqual([
    { what: 'after the backup' },
    { what: 'not archived yet' },
  ]);
  const restoredTo = await readRestoredTo(asked);
  expect(restoredTo?.getTime()).toBeGreaterThanOrEqual(before?.at.getTime() ?? Number.NaN);
  expect(restoredTo?.getTime()).toBeLessThanOrEqual(moment?.at.getTime() ?? Number.NaN);
  expect(await nextXid(), 'ids of the lost time are given anew').toBeLessThanOrEqual(lost);
});
