// Steps of the deployment driver that back up under load and restore, by the lines of docs/fresh-host.md.
import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandOf, persist, readBlock, restoreToMinute } from './lines.mjs';
import { createLoss } from './loss.mjs';

/** @param {{ stack: any, watch: any, run: Function, page: (name: string) => string, to: string, newer: string }} needs */
export function backupSteps({ stack, watch, run, page, to, newer }) {
  const { folder } = stack;
  const backups = join(stack.place, 'backups');

  /** The newest backup is that of today, in place of an earlier one. */
  async function makeBackup(env = {}) {
    const line = readBlock(page('fresh-host.md'), '17 3 * * *', 'crontab');
    mkdirSync(backups, { recursive: true });
    const command = commandOf(line)
      .replace('/opt/countersign', folder)
      .replace('/var/backups/countersign', backups);
    await run(command, { cwd: '/', env });
    const [file = ''] = readdirSync(backups)
      .filter((name) => name.endsWith('.tar.gz'))
      .sort()
      .reverse();
    return join(backups, file);
  }

  async function backUp() {
    const began = Date.now();
    const file = await makeBackup();
    const ended = Date.now();
    const size = (statSync(file).size / 1_048_576).toFixed(1);
    return watch.judge({ began, ended }, {}, `${size} MiB; `);
  }

  async function endLoad() {
    const window = await watch.stop();
    return watch.judge(window, { refusesUntil: window.ended });
  }

  /** Runs lines that take the database back before a subscription; all else is there, and deliveries go on. */
  async function goBack({ client, text, env, n }) {
    const later = await client.subscribe(`${await stack.hook()}-later`);
    const began = Date.now();
    const { said } = await run(persist(text), { env });
    await Promise.all(['api', 'worker'].map((service) => stack.healthy(service, 2)));
    const seconds = ((Date.now() - began) / 1_000).toFixed(0);
    await client.askToken();
    const { status } = await client.readSubscription(later.body.id);
    await watch.deliver(n);
    const [verified] = said.split('\n').filter((line) => line.includes('audit log: 0 findings'));
    const faults = [
      ...(verified === undefined ? ['the audit log is not verified'] : []),
      ...(status === 404 ? [] : [`a subscription from the lost time is there: ${status}`]),
      ...(await stack.wrongImages(newer)),
    ];
    return { figures: `${seconds} s; ${verified}; delivers`, faults };
  }

  async function restore() {
    const client = await watch.enter();
    // The way forward again: the newer version serves the restored data.
    copyFileSync(join(folder, '.env.newer'), join(folder, '.env'));
    const [file = ''] = readdirSync(backups);
    const text = readBlock(page('fresh-host.md'), 'lost-$now');
    return goBack({ client, text, env: { BACKUP: join(backups, file) }, n: -1 });
  }

  /** From a new backup, because the restore took the WAL of the former one away. */
  async function goBackToMinute() {
    const client = await watch.enter();
    const file = await makeBackup();
    const kept = await client.subscribe(`${await stack.hook()}-kept`);
    await sleep(2_000);
    const TO = new Date().toISOString().replace('T', ' ').replace('Z', '+00');
    await sleep(2_000);
    const text = restoreToMinute(page('fresh-host.md'));
    const made = await goBack({ client, text, env: { BACKUP: file, TO }, n: -2 });
    const { status } = await client.readSubscription(kept.body.id);
    const faults = status === 200 ? [] : [`a subscription from before is gone: ${status}`];
    return { ...made, faults: [...made.faults, ...faults] };
  }

  return [
    ['backup', backUp],
    ['account', endLoad],
    ['restore', restore],
    ['restore to a minute', goBackToMinute],
    ['the machine is lost', createLoss({ stack, watch, run, page, to, makeBackup, backups })],
  ];
}
