// Steps of the deployment driver that replace images under load, by the lines of docs/operations/upgrade.md.
import { setTimeout as sleep } from 'node:timers/promises';
import { readBlock } from './lines.mjs';

/** After it no delivery is later, where nothing dies. */
export const LATEST = 5_000;
const PROMISE = { latest: LATEST };
const VERIFY = 'docker compose run --rm --no-deps worker audit verify';

/**
 * @param {{ stack: any, watch: any, run: Function, page: (name: string) => string, say: Function,
 *   to: string, former: string, newer: string }} needs the commit, and the images before and after
 */
export function upgradeSteps({ stack, watch, run, page, to, say, former, newer }) {
  const { folder } = stack;

  /** The version that runs believes the log that another one has sealed. */
  async function verifyAudit() {
    const { said } = await run(`${VERIFY} || true`);
    const [figures = said] = said.split('\n').filter((line) => /as it was sealed|findings in/.test(line));
    return { figures, faults: figures.includes('as it was') ? [] : ['the audit log is not verified'] };
  }

  /** A row for each command that begins so, and one for the image that runs afterwards. */
  async function rowsOf(commands, promises, image) {
    const rows = [];
    for (const { text, began, ended } of commands) {
      const [, promise] = promises.find(([words]) => text.startsWith(words)) ?? [];
      // In a second there is load for certain, and the gateway's former processes end after the command.
      const window = { began, ended: Math.max(ended, began + 1_000) };
      if (promise !== undefined) rows.push({ name: text, ...(await watch.judge(window, promise)) });
    }
    if (rows.length !== promises.length)
      throw new Error(`the page has not the lines of ${promises.length} rows`);
    return [...rows, { figures: image, faults: await stack.wrongImages(image) }];
  }

  async function upgrade() {
    await stack.run('git', '-C', folder, 'checkout', '--quiet', to);
    const block = readBlock(page('operations/upgrade.md'), 'set_version()');
    const text = block.replace('127.0.0.1:8080', `127.0.0.1:${stack.ports.gateway}`);
    const { commands } = await run(text, { note: say });
    const promises = [
      ['docker compose build', {}],
      ['docker compose run --rm --no-deps migrate', PROMISE],
      ['docker compose exec -T gateway nginx', PROMISE],
      ['deploy/replace.sh api', PROMISE],
      ['deploy/replace.sh worker', PROMISE],
    ];
    return rowsOf(commands, promises, newer);
  }

  /** Containers of which the file has changed, and no image: those start anew, and Postgres with them. */
  async function startRest() {
    const began = Date.now();
    await run('docker compose up -d', { note: say });
    await stack.healthy('postgres', 1);
    const ended = Date.now();
    await sleep(10_000);
    const window = { began, ended: Date.now() };
    return watch.judge(window, { refusesUntil: ended + 5_000, isPolite: true });
  }

  async function goBack() {
    const block = readBlock(page('operations/upgrade.md'), 'cp -p .env.former .env\n');
    const { commands } = await run(block, { note: say });
    const promises = [
      ['deploy/replace.sh api', PROMISE],
      ['deploy/replace.sh worker', PROMISE],
    ];
    const rows = await rowsOf(commands, promises, former);
    return [...rows, { name: VERIFY, ...(await verifyAudit()) }];
  }

  return [
    ['upgrade', upgrade],
    ['the rest', startRest],
    ['way back', goBack],
  ];
}
