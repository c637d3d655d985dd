// Runs the floor and the service in turns on one Postgres, and adds up what each of them did and used.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { percentile } from './delivery-load.mjs';
import { cpuSeconds, cpuSecondsOfTree } from './processes.mjs';
import { openStack } from './stack.mjs';

/** Milliseconds: of each round, and more for the first, until the code is compiled and the statements are planned. */
const WARM_UP = { first: 6_000, other: 1_000 };

/**
 * @returns for `floor` and `service`: rate (a second), p50 and p99 (ms), failures, cpu and postgres (CPU ms a request);
 *   `ratio`: of the service to the floor: rate, cpu (of the process), all (with Postgres)
 */
export async function measureRequests(options) {
  const stack = await openStack(options);
  try {
    const targets = { floor: await stack.startFloor(), service: await stack.startService() };
    return await compareTargets(stack, targets, options);
  } finally {
    await stack.close();
  }
}

/**
 * The same of targets that run: `floor` and `service`, each with pid, port and inputs.
 * @param options `requests`: numbers of requests that replace the times: `warmUp` before each round, `measured`
 */
export async function compareTargets(stack, targets, options) {
  const rounds = { floor: [], service: [] };
  for (let round = 0; round < options.rounds; round += 1)
    for (const [name, target] of Object.entries(targets))
      rounds[name].push(
        await measure(stack, target, {
          ...options,
          warmUp: round === 0 ? WARM_UP.first : WARM_UP.other,
        }),
      );
  const [floor, service] = [summarize(rounds.floor), summarize(rounds.service)];
  const ratio = {
    rate: service.rate / floor.rate,
    cpu: service.cpu / floor.cpu,
    all: (service.cpu + service.postgres) / (floor.cpu + floor.postgres),
  };
  return { floor, service, ratio };
}

async function measure(stack, target, { scenario, seconds, requests, connections, warmUp }) {
  const load = fork(fileURLToPath(new URL('./load.mjs', import.meta.url)), { serialization: 'advanced' });
  const answer = () => once(load, 'message').then(([message]) => message);
  const pass = (milliseconds, cycles) => {
    if (cycles === undefined) return sleep(milliseconds);
    const done = answer();
    load.send({ cycles });
    return done;
  };
  load.send({ scenario, connections, port: target.port, ...target.inputs });
  await answer();
  await pass(warmUp, requests?.warmUp);
  load.send('begin');
  const before = { cpu: cpuSeconds(target.pid), postgres: cpuSecondsOfTree(stack.postgres) };
  await pass(seconds * 1_000, requests?.measured);
  load.send('end');
  const { latencies, failures, elapsed } = await answer();
  const used = {
    cpu: cpuSeconds(target.pid) - before.cpu,
    postgres: cpuSecondsOfTree(stack.postgres) - before.postgres,
  };
  const exited = once(load, 'exit');
  load.send('exit');
  await exited;
  return { latencies, failures, elapsed, used };
}

function summarize(rounds) {
  const sum = (of) => rounds.reduce((total, round) => total + of(round), 0);
  const latencies = rounds.flatMap((round) => round.latencies);
  return {
    rate: latencies.length / (sum((round) => round.elapsed) / 1_000),
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    failures: sum((round) => round.failures),
    cpu: (sum((round) => round.used.cpu) * 1_000) / latencies.length,
    postgres: (sum((round) => round.used.postgres) * 1_000) / latencies.length,
  };
}
