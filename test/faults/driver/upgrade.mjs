// Workers of another build take over as docs/operations/upgrade.md says: beside the old ones, with a tenth of the work,
// then half, then all of it. Afterwards every history must replay.
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { now } from './ledger.mjs';

const DEPLOYMENT = 'countersign';
/** Milliseconds in which Temporal takes a change of its routing: other faults may harm it meanwhile. */
const PATIENCE = 120_000;
/** Histories that are replayed, the newest first. */
const MOST_HISTORIES = 2_000;

/**
 * @param options `roles`: by name, where new workers take the place of old ones; `makeWorker(name, build)`: a worker that is
 *   not started; `address()` of Temporal
 */
export function createUpgrades({ roles, makeWorker, address, namespace }) {
  let builds = 0;
  let current;
  const ask = async (work) => {
    const connection = await Connection.connect({ address: address(), connectTimeout: 5_000 });
    try {
      return await work(new Client({ connection, namespace }), connection.workflowService);
    } finally {
      await connection.close();
    }
  };
  /** Temporal refuses a build until its workers poll all queues. */
  const route = async (method, request) => {
    const asked = { namespace, deploymentName: DEPLOYMENT, identity: 'a fault run', ...request };
    for (const end = now() + PATIENCE; ; await sleep(500)) {
      try {
        return await ask((_, service) => service[method](asked));
      } catch (error) {
        if (now() > end) throw error;
      }
    }
  };
  const ramp = (buildId, percentage) => route('setWorkerDeploymentRampingVersion', { buildId, percentage });
  const makeCurrent = (buildId) => route('setWorkerDeploymentCurrentVersion', { buildId });
  /** Of the workflows that began since a time, how many had their last task with this build. */
  const share = (build, since) =>
    ask(async (client) => {
      const began = `StartTime > "${new Date(since).toISOString()}"`;
      const own = `${began} AND TemporalWorkerDeploymentVersion = "${DEPLOYMENT}:${build}"`;
      const [all, mine] = await Promise.all([began, own].map((query) => client.workflow.count(query)));
      return `${mine.count} of ${all.count}`;
    }).catch(() => '?');

  return {
    /** Starts workers of another build, and gives them a tenth of the work. @returns what `finish` needs */
    begin: async () => {
      builds += 1;
      const began = now();
      const build = `build-${builds}`;
      const next = ['worker1', 'worker2'].map((name) => [name, makeWorker(name, build)]);
      for (const [, role] of next) role.start();
      try {
        await ramp(build, 10);
      } catch (error) {
        await Promise.all(next.map(([, role]) => role.kill()));
        throw error;
      }
      return { build, next, began, ramped: now(), shares: [] };
    },
    /** Half of the work, and after as many seconds all of it; then the old workers end. @returns a row of the table */
    finish: async ({ build, next, began, ramped, shares }, seconds) => {
      shares.push(await share(build, ramped));
      await ramp(build, 50);
      const halved = now();
      await sleep(seconds * 1_000);
      shares.push(await share(build, halved));
      await makeCurrent(build);
      const whole = now();
      current = build;
      await sleep(seconds * 1_000);
      shares.push(await share(build, whole));
      const old = next.map(([name]) => roles[name]);
      for (const [name, role] of next) roles[name] = role;
      await Promise.all(old.map((role) => role.stop()));
      return { build, ready: ramped - began, shares, ended: now() - whole };
    },
    /** A Temporal that has lost its database, or went back, does not know which build is current. */
    keepCurrent: async () => {
      if (current !== undefined) await makeCurrent(current);
    },
    /** @returns how many histories today's workflows have replayed, and what each that did not replay said */
    replayAll: (bundle) =>
      ask(async (client) => {
        const options = { workflowBundle: { codePath: bundle }, reuseV8Context: true };
        const failed = [];
        let replayed = 0;
        const histories = client.workflow.list({ pageSize: 200 }).intoHistories({ concurrency: 4 });
        for await (const { workflowId, error } of Worker.runReplayHistories(options, atMost(histories))) {
          replayed += 1;
          if (error) failed.push(`${workflowId}: ${error.message}`);
        }
        return { replayed, failed };
      }),
  };
}

async function* atMost(histories) {
  let taken = 0;
  for await (const one of histories) {
    taken += 1;
    if (taken > MOST_HISTORIES) return;
    yield one;
  }
}

/** After runs with an upgrade: no history and no worker's log says that workflows took another way. */
export async function checkUpgrades({ stack, ledger }) {
  const upgrades = ledger.faults.flatMap(({ upgrade }) => upgrade ?? []);
  if (upgrades.length === 0) return { upgrades };
  const { replayed, failed } = await stack.upgrades.replayAll(resolve('dist/workflow-bundle.js'));
  for (const one of failed) ledger.violate('history does not replay', one);
  for (const role of Object.values(stack.roles))
    if (/nondeterminism|TMPRL1100/i.test(role.log()))
      ledger.violate('nondeterminism', `in the log of ${role.name}`);
  return { upgrades, replayed };
}

/** @returns a line for each upgrade */
export function describeUpgrades({ upgrades, replayed }) {
  if (upgrades.length === 0) return [];
  const head = `| upgrade | takes work after | workflows at 10 % | at 50 % | at 100 % | the old ended after |`;
  const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;
  const body = upgrades.map(
    ({ build, ready, shares, ended }) =>
      `| ${build} | ${seconds(ready)} | ${shares.join(' | ')} | ${seconds(ended)} |`,
  );
  return ['', head, '|---|---|---|---|---|---|', ...body, `${replayed} histories replayed`];
}
