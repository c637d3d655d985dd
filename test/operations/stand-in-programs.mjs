// psql and pg_basebackup as far as deploy/backup/backup.sh uses them, because the embedded Postgres comes without them.
// They are called by name and arguments, and talk to the server of DATABASE_URL.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeSync } from 'node:fs';
import pg from 'pg';

const connectionString = process.env.DATABASE_URL ?? '';
const [, , name, ...words] = process.argv;
try {
  if (name === 'psql') await runScript(readFileSync(0, 'utf8'));
  else await copyServer();
} catch (error) {
  process.stderr.write(`${name}: ${/** @type {Error} */ (error).message}\n`);
  process.exitCode = 1;
}

/** The statements and the commands `\g`, `\!`, `\if :SHELL_ERROR` and `\endif` of a script, which ends at an error. */
async function runScript(/** @type {string} */ text) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    let hasFailed = false;
    let isLeftOut = false;
    let statement = '';
    for (const line of text.split('\n')) {
      if (line.startsWith('\\!'))
        hasFailed = spawnSync('bash', ['-c', line.slice(2)], { stdio: 'inherit' }).status !== 0;
      else if (line === '\\if :SHELL_ERROR') isLeftOut = !hasFailed;
      else if (line === '\\endif') isLeftOut = false;
      else if (!isLeftOut) statement += `${line}\n`;
      const isWhole = statement.split('$$').length % 2 === 1;
      if (!isWhole || !/(;|\\g \/dev\/null)\n$/.test(statement)) continue;
      await client.query(statement.replace(/\\g .*/, ''));
      statement = '';
    }
  } finally {
    await client.end();
  }
}

/** Writes the archive that the server makes of itself; its WAL is read from the server's folder at the end ("fetch"). */
async function copyServer() {
  for (const word of ['--checkpoint=fast', '--wal-method=fetch', '-Ft'])
    if (!words.includes(word)) throw new Error(`made for ${word} only`);
  const client = new pg.Client(/** @type {pg.ClientConfig} */ ({ connectionString, replication: 'true' }));
  await client.connect();
  /** @type {Promise<void>} */
  const copied = new Promise((resolve, reject) => {
    const copy = {
      submit: (/** @type {pg.Connection} */ connection) =>
        connection.query("BASE_BACKUP (CHECKPOINT 'fast', WAL true, WAIT false, MANIFEST 'no')"),
      /** A message "d" is of the archive. The write blocks, as that of a program in C does. */
      handleCopyData: ({ chunk }) => {
        if (chunk[0] !== 'd'.charCodeAt(0)) return;
        for (let at = 1; at < chunk.length; ) at += writeSync(1, chunk, at);
      },
      handleError: reject,
      handleReadyForQuery: () => resolve(),
      handleRowDescription: () => undefined,
      handleDataRow: () => undefined,
      handleCommandComplete: () => undefined,
    };
    client.query(/** @type {any} */ (copy));
  });
  await copied.finally(() => client.end());
}
