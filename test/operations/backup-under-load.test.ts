// A backup holds all WAL that the server has written during its copy, also when that is more than the server keeps:
// that of deploy/backup/backup.sh, and one by hand as docs/operations/backup.md says.
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../app/local/temporary-folder.ts';
import { ask, complete, copy, createServer, restore, startBackup, stopBackup } from './backup-page.ts';

/** More WAL than `max_wal_size`, a checkpoint that removes what nothing keeps, and a row that the backup must have. */
const LOAD = [
  `DO $$ BEGIN
FOR i IN 0..pg_size_bytes(current_setting('max_wal_size')) / pg_size_bytes(current_setting('wal_segment_size')) LOOP
  PERFORM pg_logical_emit_message(true, 'load', 'a record');
  PERFORM pg_switch_wal();
END LOOP;
END $$;`,
  'CHECKPOINT;',
  `INSERT INTO kept VALUES ('during the copy');`,
];

async function createLoadedServer() {
  const server = await createServer();
  await ask(server.url(), `CREATE TABLE kept (what text); INSERT INTO kept VALUES ('before')`);
  const oldest = async () => {
    const [row] = await ask<{ file: string }>(server.url(), 'SELECT min(name) AS file FROM pg_ls_waldir()');
    return row?.file ?? '';
  };
  /** Puts the backup in the place of the server's folder, after a row that it cannot have. */
  const goBack = async () => {
    await ask(server.url(), `INSERT INTO kept VALUES ('after')`);
    await server.stop();
    server.shell(restore);
    await server.start();
    const rows = await ask<{ what: string }>(server.url(), 'SELECT what FROM kept ORDER BY what');
    return rows.map(({ what }) => what);
  };
  const slots = () => ask(server.url(), 'SELECT slot_name FROM pg_replication_slots');
  return { ...server, oldest, goBack, slots };
}

/** Runs backup.sh with a stand-in for docker that runs the programs here, and a gzip that is slower than the load. */
function runBackup(url: string, folder: string) {
  const programs = temporaryFolder();
  const write = (name: string, text: string) =>
    writeFileSync(join(programs, name), `#!/bin/bash\n${text}\n`, { mode: 0o755 });
  const standIn = `${process.execPath} ${resolve('test/operations/stand-in-programs.mjs')}`;
  for (const name of ['psql', 'pg_basebackup']) write(name, `exec ${standIn} ${name} "$@"`);
  write('docker', 'shift 4; exec "$@"');
  writeFileSync(join(programs, 'load.sql'), `${LOAD.join('\n')}\n`);
  // When the first byte of the copy is there, the server writes until it would have removed the WAL of that moment.
  write(
    'gzip',
    `PATH=$FORMER_PATH; [ $# = 0 ] || exec gzip "$@"
    { dd bs=1 count=1 status=none; ${standIn} psql < ${programs}/load.sql; cat; } | gzip -1`,
  );
  const env = {
    ...process.env,
    DATABASE_URL: url,
    ARCHIVE: join(programs, 'none'),
    FORMER_PATH: process.env.PATH,
    PATH: `${programs}:${process.env.PATH}`,
  };
  const { status, stderr } = spawnSync('deploy/backup/backup.sh', [folder], { env, encoding: 'utf8' });
  return { status, stderr };
}

it('backup.sh makes a whole backup, and leaves no slot', async () => {
  const server = await createLoadedServer();
  const first = await server.oldest();
  const folder = temporaryFolder();
  expect(runBackup(server.url(), folder)).toEqual({ status: 0, stderr: '' });
  expect(await server.slots()).toEqual([]);
  await ask(server.url(), 'CHECKPOINT');
  expect((await server.oldest()) > first, 'the load was not enough to have WAL removed').toBe(true);
  const [file = ''] = readdirSync(folder);
  server.shell(
    `mkdir -m 700 "$BACKUP"; tar xzf "$FILE" -C "$BACKUP"; chown -R --reference="$PGDATA" "$BACKUP"`,
    {
      FILE: join(folder, file),
    },
  );
  expect(await server.goBack()).toEqual(['before', 'during the copy']);
});

it('a copy by hand is whole, and leaves no slot', async () => {
  const server = await createLoadedServer();
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  await client.query(startBackup);
  for (const statement of LOAD) await ask(server.url(), statement);
  server.shell(copy);
  const { rows } = await client.query<{ labelfile: string }>(stopBackup);
  server.shell(complete, { LABEL: rows[0]?.labelfile ?? '' });
  await client.end();
  expect(await server.goBack()).toEqual(['before', 'during the copy']);
  expect(await server.slots()).toEqual([]);
});
