// The lines of docs/operations/backup.md, and a separate server that they back up and restore.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { startPostgres } from '../../src/app/local/postgres.ts';
import { temporaryFolder } from '../app/local/temporary-folder.ts';

const page = readFileSync('docs/operations/backup.md', 'utf8');
export const commandsIn = (language: string, heading: string) => {
  const [, section = ''] = page.split(`## ${heading}\n`);
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(new RegExp(` *\`\`\`${language}\\n([\\s\\S]+?)\`\`\``, 'g'))].map(
    ([, text = '']) => text,
  );
};
export const [startBackup = '', stopBackup = ''] = commandsIn('sql', 'A backup by hand');
export const [define = '', copy = '', complete = '', restore = ''] = commandsIn('sh', 'A backup by hand');

/** One text on a connection that ends with it. */
export async function ask<Row extends object>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}

/** A server that has its folder, and that a test may end and start again. */
export async function createServer() {
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o755);
  const start = () => startPostgres({ dataDir, durable: false, log: () => undefined });
  let running = await start();
  onTestFinished(() => running.stop());
  const { cluster } = running;
  const backup = join(dataDir, 'backup');
  return {
    url: () => running.url,
    stop: () => running.stop(),
    start: async () => {
      running = await start();
    },
    /** Runs commands of the page. */
    shell: (commands: string, variables: Record<string, string> = {}) =>
      execFileSync('sh', ['-euc', `${define}${commands}`], {
        env: { PATH: process.env.PATH ?? '', PGDATA: cluster, BACKUP: backup, LABEL: '', ...variables },
      }),
    /** Archives its WAL, by the script of a deployment, where the user of Postgres can read it. */
    archive: async () => {
      const script = join(dataDir, 'archive.sh');
      const wal = join(dataDir, 'wal');
      copyFileSync('deploy/postgres/archive.sh', script);
      mkdirSync(wal);
      execFileSync('chown', [`--reference=${join(cluster, 'PG_VERSION')}`, wal]);
      const archive = `ARCHIVE=${wal} sh ${script} %p %f`;
      for (const setting of [`archive_mode = on`, `archive_command = '${archive}'`])
        await ask(running.url, `ALTER SYSTEM SET ${setting}`);
      await running.stop();
      running = await start();
      return wal;
    },
  };
}
