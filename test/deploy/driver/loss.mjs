// The step of the deployment driver that loses the machine: a backup during which much WAL was written, the copied
// archive and the two keys are left, and another project with empty volumes goes on from them, to a minute.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandOf, persist, readBlock, restoreToMinute } from './lines.mjs';

/** The WAL of the copy, in MiB: twice what Postgres keeps by itself (`max_wal_size`). */
const LOAD = 2_048;
const KEYS = /^(MASTER_KEY|AUDIT_KEY)=.*$/gm;
/** Text of all rows of a table: the same before and after. */
const digest = (table) =>
  `SELECT '${table}', count(*), md5(string_agg(t::text, '|' ORDER BY id)) FROM ${table} t`;
const DIGESTS = ['events', 'subscriptions', 'audit_log'].map(digest).join(' UNION ALL ');

/**
 * @param {{ stack: any, watch: any, run: Function, page: (name: string) => string, to: string,
 *   makeBackup: (env?: NodeJS.ProcessEnv) => Promise<string>, backups: string }} needs
 * @returns {() => Promise<any>} the step
 */
export function createLoss({ stack, watch, run, page, to, makeBackup, backups }) {
  const crontab = (words) =>
    readBlock(page('fresh-host.md'), words, 'crontab').trim().split('\n').at(-1) ?? '';
  const ask = async (text) => {
    const { said } = await run(`docker compose exec -T postgres psql -U countersign -AtqX -c "$ASKED"`, {
      env: { ASKED: text },
    });
    return said.trim();
  };
  const seconds = (began) => `${((Date.now() - began) / 1_000).toFixed(0)} s`;

  /** The backup of the page, with a gzip that reads on when Postgres has written and removed WAL. */
  async function makeLoadedBackup() {
    const programs = join(stack.place, 'programs');
    mkdirSync(programs, { recursive: true });
    const load = `DO $$ BEGIN FOR i IN 1..${LOAD} LOOP
      PERFORM pg_logical_emit_message(true, 'load', repeat(md5(random()::text), 32768));
      COMMIT;
    END LOOP; END $$;
    CHECKPOINT;`;
    writeFileSync(join(programs, 'load.sql'), load);
    const gzip = `#!/bin/bash
set -euo pipefail
PATH=$FORMER_PATH; [ $# = 0 ] || exec gzip "$@"
{ dd bs=1 count=1 status=none
  docker compose exec -T postgres psql -U countersign -qX -v ON_ERROR_STOP=1 < ${programs}/load.sql >&2
  cat; } | gzip
`;
    writeFileSync(join(programs, 'gzip'), gzip, { mode: 0o755 });
    const before = await ask('SELECT pg_current_wal_lsn()');
    const file = await makeBackup({
      FORMER_PATH: stack.env.PATH,
      PATH: `${programs}${delimiter}${stack.env.PATH}`,
    });
    const written = await ask(`SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '${before}')::bigint / 1048576`);
    return { file, written: Number(written) };
  }

  /** The line of the page that copies the archive, when the WAL of now is in it. */
  async function copyArchive() {
    const file = await ask('SELECT pg_walfile_name(pg_switch_wal())');
    const there = `docker compose exec -T postgres sh -c '[ -f "$ARCHIVE/$0.gz" ]' ${file}`;
    await run(`for try in {1..600}; do if ${there}; then break; fi; [ $try != 600 ]; sleep 1; done`);
    const line = commandOf(crontab('--wal'));
    await run(line.replace('/opt/countersign', stack.folder).replace('/var/backups/countersign', backups), {
      cwd: '/',
    });
  }

  /** A new clone, with settings that are made anew but for the keys. @returns the settings of before */
  async function begin() {
    const file = join(stack.folder, '.env');
    const kept = ['.env', 'acme.json'].map((name) => readFileSync(join(stack.folder, name), 'utf8'));
    await stack.lose(to);
    writeFileSync(join(stack.folder, 'acme.json'), kept[1]);
    await run(readBlock(page('fresh-host.md'), 'cp .env.example .env'));
    stack.settle();
    const keys = kept[0].match(KEYS) ?? [];
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(
        KEYS,
        (line, name) => keys.find((key) => key.startsWith(name)) ?? line,
      ),
    );
    const passwords = (text) => text.match(/^\w+_PASSWORD=.+$/gm);
    return { isNew: passwords(kept[0]).every((one) => !passwords(readFileSync(file, 'utf8')).includes(one)) };
  }

  return async function loseMachine() {
    let client = await watch.enter();
    const backingUp = Date.now();
    const { file, written } = await makeLoadedBackup();
    const figures = [`backup with ${written} MiB of WAL meanwhile in ${seconds(backingUp)}`];
    const kept = await client.subscribe(`${await stack.hook()}-kept`);
    const rows = await ask(DIGESTS);
    await sleep(2_000);
    const TO = new Date().toISOString().replace('T', ' ').replace('Z', '+00');
    await sleep(2_000);
    const later = await client.subscribe(`${await stack.hook()}-later`);
    const copying = Date.now();
    await copyArchive();
    figures.push(`archive copied in ${seconds(copying)}`);
    const { isNew } = await begin();

    const restoring = Date.now();
    const put = readBlock(page('fresh-host.md'), 'tar cf - -C');
    const env = { WAL: join(backups, 'wal'), BACKUP: file, TO };
    // What is the same then is compared before `restore-check` adds to it.
    const compared = restoreToMinute(page('fresh-host.md')).replace(
      /^docker compose up -d migrate$/m,
      (line) =>
        `echo "rows $(docker compose exec -T postgres psql -U countersign -AtqX -c "$DIGESTS" | tr '\\n' ' ')"\n${line}`,
    );
    const { said } = await run(persist(`${put}${compared}`), { env: { ...env, DIGESTS } });
    await Promise.all(['api', 'worker'].map((service) => stack.healthy(service, 2)));
    figures.push(`restored in ${seconds(restoring)}`);
    client = await watch.enter();
    await client.subscribe(await stack.hook());
    await watch.deliver(-3);
    const [found] = /^rows .*$/m.exec(said) ?? ['no rows'];
    const [verified] = /^.*audit log: 0 findings.*$/m.exec(said) ?? [];
    const [was, is] = [kept, later].map(({ body }) => client.readSubscription(body.id));
    figures.push(`${found.replaceAll(/\|[0-9a-f]{32}/g, '')}; ${verified}; delivers`);
    const faults = [
      ...(written >= LOAD ? [] : [`only ${written} MiB of WAL during the copy`]),
      ...(isNew ? [] : ['a password of before is left']),
      ...(found.trim() === `rows ${rows.replaceAll('\n', ' ')}`
        ? []
        : [`not as before: ${rows} and ${found}`]),
      ...(verified === undefined ? ['the audit log is not verified'] : []),
      ...((await was).status === 200 ? [] : [`a subscription from before is gone: ${(await was).status}`]),
      ...((await is).status === 404
        ? []
        : [`a subscription from the lost time is there: ${(await is).status}`]),
    ];
    return { figures: figures.join('; '), faults };
  };
}
