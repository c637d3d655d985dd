// The step of the deployment driver that exchanges the master key under load, by the lines of
// docs/operations/wrapped-keys.md, while a client follows the feed by its cursors and makes subscriptions.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { persist, readBlock } from './lines.mjs';
import { LATEST } from './upgrade.mjs';

/** @param {{ stack: any, watch: any, run: Function, page: (name: string) => string, say: Function }} needs */
export function keySteps({ stack, watch, run, page, say }) {
  const block = (words) => persist(readBlock(page('operations/wrapped-keys.md'), words));

  /** Does a thing four times a second until it is stopped. @returns all answers, in the end */
  function repeat(work) {
    let isOver = false;
    const working = (async () => {
      const answers = [];
      while (!isOver) {
        answers.push(await work(answers.length));
        await sleep(250);
      }
      return answers;
    })();
    return () => {
      isOver = true;
      return working;
    };
  }

  /** The next page of the feed; each cursor comes from one process, and goes to any. */
  function followFeed(client) {
    let cursor;
    return repeat(async () => {
      const answer = await client.readFeed(cursor);
      cursor = answer.body?.next_cursor ?? cursor;
      return answer;
    });
  }

  /** A subscription with a secret of its process, and an event for it alone. */
  const subscribe = (client, hook) =>
    repeat(async (index) => {
      const type = `deployment.key.n${index}`;
      const made = await client.subscribe(hook, type);
      const published = await client.publish(-1_000 - index, type);
      return { ...published, isMade: made.status === 201, subscribed: made.status, n: -1_000 - index };
    });

  /** @returns {Promise<string[]>} events that did not come, came twice or late */
  async function judgeDeliveries(published) {
    const faults = [];
    for (const { n, at, status, subscribed } of published) {
      if (subscribed !== 201 || status > 299) faults.push(`subscription ${subscribed}, event ${status}`);
      const came = await watch.arrivals(n);
      if (came.length !== 1) faults.push(`an event came ${came.length} times`);
      else if (came[0] - at > LATEST) faults.push(`a delivery after ${came[0] - at} ms`);
    }
    return faults;
  }

  async function exchange() {
    const client = await watch.enter();
    const stops = [followFeed(client), subscribe(client, await stack.hook())];
    await sleep(3_000);
    const began = Date.now();
    await run(block('exchange "$old,$new"'), { note: say });
    await run(block('4., when'), { note: say });
    const ended = Date.now();
    await sleep(3_000);
    const [pages, published] = await Promise.all(stops.map((stop) => stop()));
    const made = await watch.judge({ began, ended }, { latest: LATEST, isOnce: true });
    const refused = pages.filter(({ status }) => status !== 200);
    const faults = [
      ...made.faults,
      ...(refused.length > 0
        ? [`the feed refused ${refused.length}: ${JSON.stringify(refused[0].body)}`]
        : []),
      ...(await judgeDeliveries(published)),
    ];
    // The settings that a later step goes on with have the former key.
    const settings = join(stack.folder, '.env');
    for (const name of ['.env.newer', '.env.former']) keepKey(settings, join(stack.folder, name));
    const more = `${pages.length} pages of the feed, ${published.length} new subscriptions with an event each; `;
    return { figures: `${more}${made.figures}`, faults };
  }

  function keepKey(settings, file) {
    const [line = ''] = /^MASTER_KEY=.*$/m.exec(readFileSync(settings, 'utf8')) ?? [];
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^MASTER_KEY=.*$/m, line));
  }

  return [['exchange of the master key', exchange]];
}
