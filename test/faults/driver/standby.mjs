// A synchronous standby of the stack's Postgres: made as docs/operations/backup.md makes a copy by hand, attached, and
// promoted when the primary has failed, is stopped, or is still there and nobody may hear it.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '#dist/src/app/local/postgres.js';
import { preparePostgresPlace } from '#dist/src/app/local/postgres-place.js';

const NAME = 'standby';
/** Milliseconds in which a standby has caught up. */
const PATIENCE = 60_000;

/**
 * Makes a standby of a running primary. From then on the primary answers no commit that the standby does not have.
 * @param options `primary`, a running Postgres, and `home`, the data folder that it was started with; `to`, the data
 *   folder of the standby, which is not there yet
 * @returns the running standby
 */
export async function addStandby({ primary, home, to, keeper }) {
  const session = new pg.Client({ connectionString: primary.url });
  session.on('error', () => undefined);
  await session.connect();
  let standby;
  try {
    // A server that was a standby itself has the name in the file that is copied.
    await session.query('ALTER SYSTEM RESET synchronous_standby_names');
    await session.query('SELECT pg_reload_conf()');
    await session.query(`SELECT pg_backup_start('standby', fast => true)`);
    const cluster = await copyCluster({ primary, home, to });
    const { rows } = await session.query('SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)');
    await follow(cluster, primary, rows[0].labelfile);
    standby = await startPostgres({ dataDir: to, keeper, log: () => undefined });
    await session.query(`ALTER SYSTEM SET synchronous_standby_names = '${NAME}'`);
    await session.query('SELECT pg_reload_conf()');
    await until(() => isSynchronous(session));
    return standby;
  } catch (error) {
    // Without this the primary would wait for it.
    await session.query('ALTER SYSTEM RESET synchronous_standby_names').catch(() => undefined);
    await session.query('SELECT pg_reload_conf()').catch(() => undefined);
    await standby?.stop();
    throw error;
  } finally {
    await session.end().catch(() => undefined);
  }
}

/** @returns whether nothing is answered any more that the standby does not have */
async function isSynchronous(session) {
  const { rows } = await session.query(
    `SELECT FROM pg_stat_replication WHERE sync_state = 'sync' AND state = 'streaming'`,
  );
  return rows.length > 0;
}

/** Promotes a standby. @returns when it takes writes */
export async function promote({ url }) {
  const session = new pg.Client({ connectionString: url });
  session.on('error', () => undefined);
  await session.connect();
  await session.query('SELECT pg_promote()');
  await session.end();
}

async function copyCluster({ primary, home, to }) {
  await mkdir(to);
  await chmod(to, 0o755);
  const { password, servicePassword } = JSON.parse(await readFile(join(home, 'postgres.json'), 'utf8'));
  const record = { id: randomBytes(12).toString('hex'), password, servicePassword };
  await writeFile(join(to, 'postgres.json'), JSON.stringify(record), { mode: 0o600 });
  const place = await preparePostgresPlace({ dataDir: to, id: record.id, say: () => undefined });
  await mkdir(place.cluster, { mode: 0o700 });
  // The standby streams the WAL. A file that changes or goes meanwhile is mended by it, and makes tar end with 1.
  const without = ['pg_wal/*', 'postmaster.pid', 'postmaster.opts'].map((name) => `--exclude='./${name}'`);
  const copy = `tar -C "$FROM" ${without.join(' ')} -cf - . 2>/dev/null | tar -C "$TO" -xpf -`;
  execFileSync('sh', ['-euc', copy], {
    env: { PATH: process.env.PATH, FROM: primary.cluster, TO: place.cluster },
  });
  return place.cluster;
}

async function follow(cluster, primary, label) {
  const { username, password, port } = new URL(primary.url);
  const way = `host=127.0.0.1 port=${port} user=${username} password=${password} application_name=${NAME}`;
  await writeFile(join(cluster, 'backup_label'), label);
  await writeFile(join(cluster, 'standby.signal'), '');
  await writeFile(join(cluster, 'postgresql.auto.conf'), `primary_conninfo = '${way}'\n`, { flag: 'a' });
  if (process.getuid?.() === 0)
    for (const name of ['.', 'backup_label', 'standby.signal'])
      execFileSync('chown', [`--reference=${primary.cluster}`, join(cluster, name)]);
}

async function until(holds) {
  for (const end = performance.now() + PATIENCE; !(await holds()); await sleep(50))
    if (performance.now() > end) throw new Error('the standby does not catch up');
}
