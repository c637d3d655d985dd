// One run: the stack is started, loaded, harmed by the schedule of its seed, healed and drained; then the ledger is
// compared.
import { cp, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkDeliveries } from './check-deliveries.mjs';
import { checkRest } from './check-rest.mjs';
import { createClient } from './client.mjs';
import { createDeliveryLoad } from './delivery-load.mjs';
import { createFaults } from './faults.mjs';
import { createIdentityLoad } from './identity-load.mjs';
import { createLedger, now } from './ledger.mjs';
import { checkHistories } from './linear.mjs';
import { checkPromotions } from './promotions.mjs';
import { createRandom } from './random.mjs';
import { checkReads, createReadLoad } from './read-load.mjs';
import { openReceivers } from './receivers.mjs';
import { describeRun } from './report.mjs';
import { checkRestore, createRestores, describeRestores, LOSSES } from './restore.mjs';
import { planFaults } from './schedule.mjs';
import { openStack } from './stack.mjs';
import { checkUpgrades } from './upgrade.mjs';

/** Seconds for everything to end after the last fault: far more than time-outs, leases and retries together. */
const PATIENCE = 240;
/** Runs of `doctor --fix`: some repairs are only asked for, and the next run sees them done. */
const MOST_REPAIRS = 6;

/**
 * @param {object} options
 * @param {number} options.seed
 * @param {number} options.seconds of load
 * @param {number} options.pace milliseconds between two requests of a client
 * @param {string} options.main the built entry point
 * @param {string[]} [options.kinds] of faults
 * @param {(line: string) => void} options.say one line of progress
 * @param {number} [options.patience] in seconds
 * @param {object} [options.deployed] see `openStack`
 * @param {boolean} [options.restore] Postgres is copied after half of the load, and taken back to that copy at its end
 * @param {number} [options.restores] so often Postgres is lost under load and restored, after so many seconds each; no other
 *   faults then, unless `kinds` says so
 * @returns the ledger and the table
 */
export async function runSeed({
  main,
  kinds,
  restore = false,
  restores = 0,
  patience = PATIENCE,
  ...options
}) {
  const { seed, seconds, say } = options;
  const ledger = createLedger();
  const onOwnEnd = (name, how) => ledger.ownEnds.push(`${name}: ${how}`);
  const stack = await openStack({ main, deployed: options.deployed, onOwnEnd });
  const receivers = await openReceivers({ ledger, seed });
  const faults = createFaults({
    ...{ stack, ledger, say },
    links: { ...stack.links, ...receivers.links },
    random: createRandom(seed, 'carry out'),
  });
  try {
    await stack.start();
    const client = createClient({ stack, ledger, random: createRandom(seed, 'apis') });
    // A server that is lost and restored was loaded until then.
    const planned = restore || restores > 0 ? Number.POSITIVE_INFINITY : seconds;
    const run = { ...options, planned, ledger, stack, receivers, client, faults, patience };
    await client.open();
    let load = await beginLoad(run);
    const plan = (part) => planFaults({ seed: `${seed}${part}`, seconds, kinds });
    const restored = [];
    if (restores > 0) load = await restoreOften(run, { load, restores, plan: kinds && plan, restored });
    else await harm(run, plan(''));
    if (restore) {
      const copy = await copyPostgres(run);
      await harm(run, plan('/2'));
      await load.end();
      await restorePostgres(run, copy);
      await client.open();
      load = await beginLoad(run, '-again');
      await sleep(5_000);
    }
    const recovery = await recover(run, load);
    const deliveries = await checkDeliveries(run);
    await checkReads(run);
    await checkRest(run);
    const promotions = checkPromotions(ledger);
    const upgrades = await checkUpgrades(run);
    const objectives = await readObjectives(run);
    const linear = await checkHistories(ledger.histories);
    for (const one of linear.illegal ?? []) ledger.violate('not linearizable', one);
    const table = describeRun({
      seed,
      ledger,
      deliveries,
      recovery,
      linear,
      seconds,
      promotions,
      objectives,
      upgrades,
      restored,
    });
    if (ledger.violations.length > 0) await keepTraces(run);
    return { ledger, table };
  } finally {
    receivers.close();
    await stack.close();
  }
}

/** How far the promises were kept while all this happened, as the service itself has counted and `status` shows it. */
async function readObjectives({ stack }) {
  // Each process writes its last minute when it stops.
  for (const role of Object.values(stack.roles)) await role.stop();
  return JSON.parse((await stack.run('status', '--json')).text).objectives_of_30_days;
}

/** What a person needs to find the cause: the logs of all processes, and the times of the faults. */
async function keepTraces({ stack, ledger, seed, say }) {
  const folder = resolve('.data', 'faults', String(seed));
  await cp(stack.folder, folder, {
    recursive: true,
    filter: (path) =>
      path === stack.folder || /standby-\d+$/.test(path) || path.endsWith('.log') || path.endsWith('logs'),
  });
  const { faults, violations } = ledger;
  await writeFile(join(folder, 'run.json'), JSON.stringify({ faults, violations }, null, 2));
  const named = JSON.stringify(violations).matchAll(/delivery\/([0-9a-f-]{36})/g);
  for (const id of new Set([...named].map(([, delivery]) => delivery)))
    await writeFile(join(folder, `${id}.json`), JSON.stringify(await stack.traceDelivery(id), null, 2));
  say(`logs of the run: ${folder}`);
}

async function beginLoad(run, part) {
  const loads = [
    createDeliveryLoad({ ...run, part }),
    createIdentityLoad({ ...run, part }),
    createReadLoad({ ...run, part }),
  ];
  for (const load of loads) await load.open();
  const begun = Promise.all(loads.map((load) => load.run()));
  const late = () => run.ledger.violate('recovery', 'requests find no answer');
  return {
    /** Ends when everything that was begun has its answer. */
    end: async () => {
      for (const load of loads) load.stop();
      const waiting = new AbortController();
      const { signal } = waiting;
      const end = sleep(run.patience * 1_000, undefined, { ref: false, signal }).then(late, () => undefined);
      await Promise.race([begun, end]);
      waiting.abort();
    },
  };
}

async function harm({ faults, seconds, say }, schedule) {
  say(`${schedule.length} faults within ${seconds} s`);
  await Promise.all([faults.run(schedule), sleep(seconds * 1_000)]);
}

/** @returns the folder of the copy, and when everything that was answered before is in it */
async function copyPostgres({ stack, say }) {
  say('Postgres is copied');
  const at = now();
  const folder = join(stack.folder, 'base');
  for (const role of Object.values(stack.roles)) await role.stop();
  await stack.postgres.stop();
  await stack.postgres.copyTo(folder);
  await stack.postgres.start();
  await stack.start();
  return { folder, at };
}

/** Each time the server is copied, loaded, lost and restored to a minute, and the clients go on. @returns the last load */
async function restoreOften(run, { load: first, restores, plan, restored }) {
  const { stack, ledger, client, say } = run;
  const tools = createRestores(run);
  await tools.archive();
  let load = first;
  for (let n = 1; n <= restores; n += 1) {
    await tools.backUp();
    await harm(run, plan?.(`/${n}`) ?? []);
    const loss = LOSSES[n % LOSSES.length];
    say(`Postgres is lost: ${loss}`);
    ledger.isLosing = true;
    const ended = load.end();
    const lost = await tools.lose(loss);
    ledger.crashes.push({ from: lost.lost, to: lost.postgres });
    const row = await checkRestore(run, lost);
    const again = ledger.revoked.filter(({ at }) => at > lost.moment);
    ledger.forget(lost.moment, now());
    ledger.restoredAt = now();
    await stack.run('migrate');
    await prepareRestored(run);
    const { worker2, ...others } = stack.roles;
    for (const role of Object.values(others)) role.start();
    const json = { type: 'load.none', data: { marker: `restored ${n}` } };
    const { answered } = await client.persist('POST', '/api/v1/events', { json });
    row.accepts = (answered - lost.lost) / 1_000;
    say(describeRestores([row]).at(-1));
    // As the page says: what ended in the lost time is ended again.
    for (const { token } of again) {
      await client.persist('POST', '/oauth/revoke', { as: client.basic, form: { token } });
      ledger.revoked.push({ token, at: now() });
    }
    await repair(run, 'restore-check');
    worker2.start();
    await ended;
    for (const one of ledger.follower.shown.values()) one.times = 0;
    ledger.isLosing = false;
    restored.push(row);
    load = await beginLoad(run, `-restored${n}`);
    await sleep(5_000);
  }
  return load;
}

/** As docs/operations/backup.md says. */
async function restorePostgres({ stack, ledger, say }, { folder, at }) {
  say('Postgres is restored from its copy');
  const { worker2, ...others } = stack.roles;
  for (const role of Object.values(stack.roles)) await role.stop();
  await stack.postgres.stop();
  await stack.postgres.copyFrom(folder);
  await stack.postgres.start();
  ledger.forget(at, now());
  await stack.run('migrate');
  await prepareRestored({ stack, ledger, say });
  for (const role of Object.values(others)) role.start();
  await stack.ready();
  await stack.upgrades.keepCurrent();
  await repair({ stack, ledger }, 'restore-check');
  worker2.start();
}

/** What docs/operations/backup.md has done to a restored database before anything serves. */
async function prepareRestored({ stack, ledger, say }) {
  const { code, text, errors } = await stack.run('restore-check');
  if (code !== 0) ledger.violate('restore', `restore-check ends with ${code}: ${text}${errors}`);
  for (const line of text.trim().split('\n')) say(line);
}

/** After a restore of Postgres, or a loss of Temporal's database: as backup.md and doctor.md say. */
async function repair({ stack, ledger }, ...command) {
  const [name, ...options] = command.length === 0 ? ['doctor', '--fix'] : command;
  for (let repairs = 1; (await stack.run(name, ...options)).code !== 0; repairs += 1)
    if (repairs === MOST_REPAIRS) return ledger.violate('repair', `${name} does not come to an end`);
}

/** Waits until everything works again, and until nothing waits. @returns seconds from the last healing */
async function recover({ stack, ledger, client, receivers, patience, say }, load) {
  const healed =
    Math.max(0, ...ledger.faults.map(({ to }) => to ?? 0), ...ledger.lost.map(({ to }) => to)) || now();
  const since = () => Number(((now() - healed) / 1_000).toFixed(1));
  const before = ledger.posts.length;
  await stack.ready();
  const ready = since();
  while (!ledger.posts.slice(before).some(({ status }) => status === 204) && since() < patience)
    await sleep(50);
  const delivered = since();
  await load.end();
  receivers.calm();
  const calm = since();
  if (ledger.faults.some(({ kind }) => kind === 'lose-temporal')) await repair({ stack, ledger });
  await retryByHand({ stack, ledger, client });
  for (let waiting = -1; waiting !== 0; await sleep(500)) {
    const left = await unfinished(stack);
    if (left.length !== waiting) say(`${left.length} deliveries wait`);
    waiting = left.length;
    if (since() < calm + patience || waiting === 0) continue;
    ledger.violate(
      'drain',
      `${waiting} deliveries wait ${since()} s after the last fault, such as ${left[0]?.id}`,
    );
    break;
  }
  return { ready, delivered, 'load ended': calm, drained: since() };
}

/** As an operator does who knows that a receiver is back: its endpoint need not wait for its next probe. */
async function retryByHand({ stack, ledger, client }) {
  const rows = await stack.query(
    `SELECT DISTINCT ON (d.subscription_id) d.id, d.subscription_id FROM deliveries d JOIN endpoints e ON e.subscription_id = d.subscription_id
     WHERE d.status IN ('pending', 'retrying') AND e.active AND e.state = 'down'`,
  );
  for (const { id, subscription_id } of rows) {
    // One that ends meanwhile is replayed.
    ledger.replayed.add(id);
    ledger.openedByHand.set(subscription_id, now());
    await client.persist('POST', `/api/v1/deliveries/${id}/retry`, { json: {} });
  }
}

/** Deliveries that have not ended, and that an endpoint could take. */
const unfinished = (stack) =>
  stack.query(
    `SELECT d.id FROM deliveries d JOIN endpoints e ON e.subscription_id = d.subscription_id
     WHERE d.status IN ('pending', 'retrying') AND (e.active OR e.deleted)`,
  );
