// Steps of the deployment driver that back up under load and restore, by the lines of docs/fresh-host.md.
import { copyFileSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { commandOf, persist, readBlock } from './lines.mjs';

/** @param {{ stack: any, watch: any, run: Function, page: (name: string) => string, newer: string }} needs */
export function backupSteps({ stack, watch, run, page, newer }) {
  const { folder } = stack;
  const backups = join(stack.place, 'backups');

  async function backUp() {
    const line = readBlock(page('fresh-host.md'), 'backup.sh', 'crontab');
    mkdirSync(backups);
    const began = Date.now();
    const command = commandOf(line)
      .replace('/opt/countersign', folder)
      .replace('/var/backups/countersign', backups);
    await run(command, { cwd: '/' });
    const ended = Date.now();
    const [file = ''] = readdirSync(backups);
    const size = (statSync(join(backups, file)).size / 1_048_576).toFixed(1);
    return watch.judge({ began, ended }, {}, `${size} MiB; `);
  }

  async function endLoad() {
    const window = await watch.stop();
    return watch.judge(window, { refusesUntil: window.ended });
  }

  async function restore() {
    const client = await watch.enter();
    const later = await client.subscribe(`${await stack.hook()}-later`);
    const began = Date.now();
    // The way forward again: the newer version serves the restored data.
    copyFileSync(join(folder, '.env.newer'), join(folder, '.env'));
    const [file] = readdirSync(backups);
    const block = persist(readBlock(page('fresh-host.md'), 'lost-'));
    const { said } = await run(block, { env: { BACKUP: join(backups, file) } });
    await Promise.all(['api', 'worker'].map((service) => stack.healthy(service, 2)));
    const seconds = ((Date.now() - began) / 1_000).toFixed(0);
    await client.askToken();
    const { status } = await client.readSubscription(later.body.id);
    await watch.deliver(-1);
    const [verified] = said.split('\n').filter((line) => line.includes('as it was sealed'));
    const faults = [
      ...(verified === undefined ? ['the audit log is not verified'] : []),
      ...(status === 404 ? [] : [`a subscription from after the backup is there: ${status}`]),
      ...(await stack.wrongImages(newer)),
    ];
    return { figures: `${seconds} s; ${verified}; delivers`, faults };
  }

  return [
    ['backup', backUp],
    ['account', endLoad],
    ['restore', restore],
  ];
}
