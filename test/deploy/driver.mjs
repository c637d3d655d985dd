// `node test/deploy/driver.mjs`: brings docker-compose.yml up on a Docker engine, harms, upgrades, backs up and
// restores it under load by the lines of the pages, and takes it down. CONTRIBUTING.md explains it.
import '../../scripts/require-node.mjs';
import { spawnSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createStack, reasonNotToRun } from './driver/stack.mjs';
import { createSteps } from './driver/steps.mjs';

const NOT_RUN = 77;
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { values: given } = parseArgs({ options: { from: { type: 'string', default: 'HEAD~1' } } });
const say = (line) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line.trimEnd()}\n`);

const reason = reasonNotToRun();
if (reason !== undefined) {
  process.stdout.write(`not run: ${reason}\n`);
  process.exit(NOT_RUN);
}
const [from, to] = [given.from, 'HEAD'].map(commitOf);
const stack = await createStack({ root, from, to, say });
const rows = [];
const loads = [];
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void finish(130));
for (const [name, work] of createSteps({ stack, from, to, say })) {
  say(name);
  loads.push(loadavg()[0].toFixed(1));
  const made = await attempt(work);
  for (const row of [made].flat()) enter(row.name === undefined ? name : `${name}: \`${row.name}\``, row);
  if ([made].flat().some(({ faults, isVital }) => isVital && faults.length > 0)) break;
}
await finish(rows.some(({ faults }) => faults.length > 0) ? 1 : 0);

/** @returns {Promise<any>} the rows of a step; a step that throws has failed */
async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    say(await stack.logs().catch(() => 'no logs'));
    say(error.message);
    return { figures: '', faults: [error.message.trim().split('\n').at(-1)], isVital: rows.length === 0 };
  }
}

function enter(name, { figures, faults }) {
  rows.push({ name, figures, faults });
  say(`${name}: ${faults.length === 0 ? 'passed' : `failed: ${faults.join('; ')}`} (${figures})`);
}

/** Takes everything down, prints the table and ends. */
async function finish(code) {
  const left = await stack.down().catch((error) => [error.message]);
  enter('down', { figures: 'containers, volumes, networks', faults: left.map((one) => `left: ${one}`) });
  const lines = rows.map(({ name, figures, faults }) => {
    const result = faults.length === 0 ? 'passed' : `failed: ${faults.join('; ')}`;
    return `| ${name} | ${result} | ${figures} |`;
  });
  process.stdout.write(`\n| step | result | figures |\n|---|---|---|\n${lines.join('\n')}\n`);
  process.stdout.write(
    `\n${cpus().length} cores; load of the machine at the beginning of each step: ${loads.join(', ')}\n`,
  );
  process.exit(left.length > 0 ? 1 : code);
}

function commitOf(name) {
  const { status, stdout } = spawnSync('git', ['rev-parse', '--verify', `${name}^{commit}`], {
    ...{ cwd: root, encoding: 'utf8' },
  });
  if (status === 0) return stdout.trim();
  process.stderr.write(`There is no commit ${name}.\n`);
  process.exit(2);
}
