// The clients of the deployment driver and its receiver: starts the load, and judges windows of time by their promises.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, faultsOf, figuresOf } from './figures.mjs';
import { createClient, startLoad } from './load.mjs';

/** @param {{ folder: string, origin: string, host: string, ports: { receiver: number } }} stack */
export function createWatch(stack) {
  const arrived = [];
  /** @type {ReturnType<typeof createClient>} */
  let client;
  /** @type {ReturnType<typeof startLoad>} */
  let load;

  async function readArrived() {
    const answer = await fetch(`http://127.0.0.1:${stack.ports.receiver}/arrived?from=${arrived.length}`);
    for (const one of /** @type {any[]} */ (await answer.json())) arrived.push(one);
  }

  /** The figures of a window, when all that was published in it has come, or a minute has passed. */
  async function look(window) {
    for (let tries = 0; ; tries += 1) {
      await readArrived();
      const figures = figuresOf({ asked: load.asked, accepted: load.accepted, arrived }, window);
      if (figures.lost === 0 || tries === 60) return figures;
      await sleep(1_000);
    }
  }

  return {
    /** Becomes a client of the tenant that the page's lines have made; the receiver may be another one. */
    async enter() {
      arrived.length = 0;
      client = createClient({
        ...stack,
        tenant: JSON.parse(readFileSync(join(stack.folder, 'acme.json'), 'utf8')),
      });
      await client.askToken();
      return client;
    },
    start() {
      load = startLoad({ client, tokens: 40, publications: 10 });
    },
    /** @returns {Promise<{ began: number, ended: number }>} all of the load's time */
    async stop() {
      await load.stop();
      return { began: load.began, ended: Date.now() };
    },
    /** @returns {Promise<{ figures: string, faults: string[] }>} a window, judged by its promise */
    async judge(window, promise, more = '') {
      const figures = await look(window);
      return { figures: `${more}${describe(figures)}`, faults: faultsOf(figures, promise) };
    },
    /** @returns {Promise<number[]>} when the deliveries of an event came, which has a minute for the first */
    async arrivals(n) {
      for (let tries = 0; tries < 60 && !arrived.some((one) => one.n === n); tries += 1) {
        await readArrived();
        await sleep(tries === 0 ? 0 : 1_000);
      }
      return arrived.flatMap((one) => (one.n === n ? [one.at] : []));
    },
    /** Publishes an event, and waits a minute for its delivery. */
    async deliver(n) {
      const { status, at } = await client.publish(n);
      while (!arrived.some((one) => one.n === n)) {
        if (Date.now() - at > 60_000) throw new Error(`nothing is delivered (publication: ${status})`);
        await sleep(200);
        await readArrived();
      }
    },
  };
}
