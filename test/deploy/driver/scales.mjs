// Steps of the deployment driver that replace one, three and four processes of each role by another image under load.
import { setTimeout as sleep } from 'node:timers/promises';
import { LATEST } from './upgrade.mjs';

/** How many processes of a role run; the page's lines are run with two. */
const COUNTS = [1, 3, 4];

/**
 * @param {{ stack: any, watch: any, run: Function, say: Function, former: string, newer: string }} needs the images
 *   before and after; the former one runs at first, and two of the newer one in the end
 */
export function scaleSteps({ stack, watch, run, say, former, newer }) {
  const scale = (count) =>
    run(`docker compose up -d --no-deps --scale api=${count} --scale worker=${count} api worker`);
  const settle = (count) => Promise.all(['api', 'worker'].map((service) => stack.healthy(service, count)));

  /** Counts the processes of a service until it is stopped. @returns the fewest healthy and the most that lived */
  function countProcesses(service) {
    let isOver = false;
    const looking = (async () => {
      let fewest = Number.POSITIVE_INFINITY;
      let most = 0;
      while (!isOver) {
        fewest = Math.min(fewest, (await stack.containers(service, 'health=healthy')).length);
        most = Math.max(most, (await stack.containers(service)).length);
        await sleep(100);
      }
      return { fewest, most };
    })();
    return () => {
      isOver = true;
      return looking;
    };
  }

  async function replace(service, count) {
    const stop = countProcesses(service);
    const began = Date.now();
    await run(`deploy/replace.sh ${service}`, { note: say });
    const ended = Date.now();
    const { fewest, most } = await stop();
    // What the last of the old ones had under way.
    await sleep(2_000);
    const made = await watch.judge(
      { began, ended },
      { latest: LATEST, isOnce: true },
      `${fewest} to ${most}; `,
    );
    const faults = [
      ...made.faults,
      ...(fewest < count ? [`${fewest} of ${count} processes were healthy`] : []),
      ...(most > count + 1 ? [`${most} processes lived`] : []),
    ];
    return { name: `deploy/replace.sh ${service}`, ...made, faults };
  }

  const replaceAll = (count, image) => async () => {
    await scale(count);
    await settle(count);
    await sleep(5_000);
    await run(`sed -i 's|^COUNTERSIGN_VERSION=.*|COUNTERSIGN_VERSION=${image.split(':')[1]}|' .env`);
    const rows = [await replace('api', count), await replace('worker', count)];
    await settle(count);
    rows.push({ name: image, figures: '', faults: await stack.wrongImages(image) });
    if (count === COUNTS.at(-1)) await scale(2).then(() => settle(2));
    return rows;
  };

  return COUNTS.map((count, index) => [
    `upgrade of ${count} of each role`,
    replaceAll(count, index % 2 === 0 ? newer : former),
  ]);
}
