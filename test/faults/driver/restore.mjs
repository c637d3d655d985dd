// Postgres is lost while it is loaded, and restored from a copy and the archived WAL by the lines of
// docs/operations/backup.md.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { now } from './ledger.mjs';

/** What is left of the server, and what of its last minute may be missing afterwards. */
export const LOSSES = ['folder', 'server', 'mistake'];
/** Seconds that may be lost with the folder: docs/operations/backup.md. */
const MOST_LOST = 60;
/** Milliseconds for a process to stop. */
const GRACE = 30_000;
/** What a person destroyed so many milliseconds ago is taken back. */
const MISTAKE = 15_000;

const page = readFileSync('docs/operations/backup.md', 'utf8');
const blocks = (language, heading) => {
  const [, section] = page.split(`## ${heading}\n`);
  const [own] = section.split('\n## ');
  return [...own.matchAll(new RegExp(` *\`\`\`${language}\\n([\\s\\S]+?)\`\`\``, 'g'))].map(
    ([, text]) => text,
  );
};
const [startBackup, stopBackup] = blocks('sql', 'A backup by hand');
const [define, copy, complete, restore] = blocks('sh', 'A backup by hand');
const [toAMinute] = blocks('sh', 'To a minute');
const [forgetTarget] = blocks('sql', 'To a minute');
const [settings] = blocks('ini', 'To a minute');

/** As Docker and systemd do: a process that has not ended in time is killed. */
async function stopAsAnOperator(role) {
  const waiting = new AbortController();
  const { signal } = waiting;
  const late = sleep(GRACE, undefined, { signal }).then(
    () => role.kill(),
    () => undefined,
  );
  await role.stop();
  waiting.abort();
  await late;
}

/** @param stack of `openStack` */
export function createRestores({ stack }) {
  const { folder, postgres } = stack;
  const wal = join(folder, 'wal');
  const backup = join(folder, 'backup');
  const shell = (commands, variables = {}) =>
    execFileSync('sh', ['-uc', `${define}${commands}`], {
      env: { PATH: process.env.PATH, PGDATA: postgres.cluster(), BACKUP: backup, WAL: wal, ...variables },
      stdio: ['ignore', 'ignore', 'ignore'],
    });

  return {
    /** Begins to archive as the page says; the server starts anew. */
    archive: async () => {
      mkdirSync(wal);
      execFileSync('chown', [`--reference=${join(postgres.cluster(), 'PG_VERSION')}`, wal]);
      const script = join(folder, 'archive.sh');
      copyFileSync('deploy/postgres/archive.sh', script);
      for (const line of settings.trim().split('\n')) {
        const [name, value] = line.split(' = ');
        const text = value.replaceAll("'", '').replace(/sh \S+archive\.sh/, `ARCHIVE=${wal} sh ${script}`);
        await stack.query(`ALTER SYSTEM SET ${name} = '${text}'`);
      }
      await postgres.stop();
      await postgres.start();
    },
    /** Copies the running server. */
    backUp: async () => {
      await rm(backup, { recursive: true, force: true });
      const session = new pg.Client({ connectionString: postgres.url() });
      session.on('error', () => undefined);
      await session.connect();
      try {
        await session.query(startBackup);
        shell(copy);
        const { rows } = await session.query(stopBackup);
        shell(complete, { LABEL: rows[0].labelfile });
      } finally {
        await session.end().catch(() => undefined);
      }
    },
    /**
     * Loses the server and restores it, with the service stopped. @param loss one of `LOSSES`
     * @returns `moment`: the last commit that is there again
     */
    lose: async (loss) => {
      const lost = now();
      if (loss !== 'mistake') await postgres.kill();
      await Promise.all(Object.values(stack.roles).map(stopAsAnOperator));
      if (loss === 'mistake') await postgres.stop();
      const began = now();
      const to = loss === 'mistake' ? lost - MISTAKE : undefined;
      const left = { folder: [/target_time/, /\.lost/], server: [/target_time/], mistake: [] }[loss];
      const lines = toAMinute.split('\n').filter((line) => !left.some((without) => without.test(line)));
      if (loss === 'folder') await rm(postgres.cluster(), { recursive: true });
      shell(`${loss === 'folder' ? restore.replace(/^mv .*$/m, '') : restore}${lines.join('\n')}`, {
        TO: to === undefined ? '' : new Date(to).toISOString().replace('Z', '+00'),
      });
      await postgres.start();
      const isRecovering = async () => (await stack.query('SELECT pg_is_in_recovery() AS yes'))[0].yes;
      while (await isRecovering().catch(() => true)) await sleep(100);
      const [{ at }] = await stack.query(
        'SELECT extract(epoch FROM pg_last_xact_replay_timestamp())::float8 * 1000 AS at',
      );
      for (const text of forgetTarget.split(';').filter((one) => one.trim() !== '')) await stack.query(text);
      await rm(`${postgres.cluster()}.lost`, { recursive: true, force: true });
      return { loss, lost, stopped: began, moment: at, target: to ?? lost, postgres: now() };
    },
  };
}

/**
 * Compares what is there with what was accepted before the loss, and has the ledger forget the rest.
 * @returns a row of the table, whose `accepted` is to be filled in
 */
export async function checkRestore({ stack, ledger }, { loss, lost, moment, target, postgres }) {
  const accepted = [...ledger.publications.values()].filter(
    ({ outcome, answered }) => outcome === 'accepted' && answered <= lost && answered > ledger.restoredAt,
  );
  const kept = new Set(
    (await stack.query('SELECT event_id FROM published_events')).map(({ event_id }) => event_id),
  );
  const missing = accepted.filter(({ ids }) => ![...ids].every((id) => kept.has(id)));
  const early = missing.filter(({ answered }) => answered <= moment);
  for (const { marker } of early)
    ledger.violate('restore', `${marker} was accepted before the last commit that is there`);
  const seconds = (target - moment) / 1_000;
  if (seconds > MOST_LOST) ledger.violate('restore', `${seconds.toFixed(1)} s are lost with the ${loss}`);
  if (loss === 'server' && missing.length > 0)
    ledger.violate('restore', `${missing.length} accepted events are lost, and all WAL was there`);
  return { loss, seconds, missing: missing.length, of: accepted.length, postgres: (postgres - lost) / 1_000 };
}

/** @returns a line for each restore */
export function describeRestores(rows) {
  if (rows.length === 0) return [];
  const head = '| lost | not restored | accepted events lost | of | Postgres after | accepts again after |';
  const body = rows.map(
    ({ loss, seconds, missing, of, postgres, accepts }) =>
      `| ${loss} | ${seconds.toFixed(1)} s | ${missing} | ${of} | ${postgres.toFixed(1)} s | ${accepts.toFixed(1)} s |`,
  );
  return ['', head, '|---|---|---|---|---|---|', ...body];
}
