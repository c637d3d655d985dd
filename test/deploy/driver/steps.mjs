// The steps of the deployment driver, in order. Each says what came of it, and what of its promise was not kept.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { backupSteps } from './backup.mjs';
import { harmSteps } from './harm.mjs';
import { keySteps } from './keys.mjs';
import { readBlock, runLines } from './lines.mjs';
import { scaleSteps } from './scales.mjs';
import { LATEST, upgradeSteps } from './upgrade.mjs';
import { createWatch } from './watch.mjs';

/**
 * @param {{ stack: any, from: string, to: string, say: (line: string) => void }} needs
 * @returns {[string, () => Promise<any>][]} name and work of each
 */
export function createSteps({ stack, from, to, say }) {
  const watch = createWatch(stack);
  const page = (name) => join(stack.folder, 'docs', name);
  /**
   * @param {string} text
   * @param {{ env?: NodeJS.ProcessEnv, cwd?: string, note?: (said: string) => void }} [more]
   */
  const run = (text, more = {}) =>
    runLines(text, { cwd: stack.folder, ...more, env: { ...stack.env, ...more.env } });
  const [former, newer] = [from, to].map((commit) => `countersign:${commit.slice(0, 8)}`);

  async function start() {
    const began = Date.now();
    await run(readBlock(page('fresh-host.md'), 'cp .env.example .env'));
    stack.settle();
    await run(readBlock(page('fresh-host.md'), 'tenant create acme'));
    await Promise.all(['api', 'worker'].map((service) => stack.healthy(service, 2)));
    const client = await watch.enter();
    const { status } = await client.subscribe(await stack.hook());
    const figures = `${((Date.now() - began) / 1_000).toFixed(0)} s with the build; MiB: ${await stack.memory()}`;
    return {
      figures,
      faults: status === 201 ? [] : [`the subscription was answered ${status}`],
      isVital: true,
    };
  }

  async function deliver() {
    watch.start();
    // The first requests of a process that has just started take longer.
    await sleep(15_000);
    const began = Date.now();
    await sleep(30_000);
    const ended = Date.now();
    return watch.judge({ began, ended }, { latest: LATEST }, `MiB: ${await stack.memory()}; `);
  }

  const needs = { stack, watch, run, page, to, say, former, newer };
  return [
    ['start', start],
    ['delivers', deliver],
    .../** @type {any[]} */ (harmSteps(needs)),
    .../** @type {any[]} */ (upgradeSteps(needs)),
    .../** @type {any[]} */ (scaleSteps(needs)),
    .../** @type {any[]} */ (keySteps(needs)),
    .../** @type {any[]} */ (backupSteps(needs)),
  ];
}
