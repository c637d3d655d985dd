// A small process that outlives its starter: when the pipe to the starter closes, it ends the parts that are still
// there, in order. Plain JavaScript, so that it runs from sources as well as from the build. Must never end a process
// other than those in the list.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * @typedef {{ name: string, pid: number, started: string, order: number, grace: number, signals: NodeJS.Signals[] }}
 *   Part
 * @typedef {{ owner: number, parts: Part[], remove: string[] }} PartsFile
 */

const [file, owner] = process.argv.slice(2);

/** @returns {PartsFile | null} the list, unless it is gone or belongs to a later starter */
function readParts() {
  try {
    const parts = JSON.parse(readFileSync(String(file), 'utf8'));
    return String(parts.owner) === owner ? parts : null;
  } catch {
    return null;
  }
}

/**
 * The same text as `startOf` in processes.ts gives, which made the list.
 * @param {number} pid
 * @returns {string | null}
 */
function startOf(pid) {
  try {
    if (process.platform !== 'linux') {
      return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    }
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return fields[0] === 'Z' ? null : `${boot}:${fields[19]}`;
  } catch {
    return null;
  }
}

/** @param {Part} part */
const isRunning = ({ pid, started }) => startOf(pid) === started;

/** @param {Part} part */
async function end(part) {
  for (const signal of part.signals) {
    if (!isRunning(part)) return;
    try {
      process.kill(part.pid, signal);
    } catch {
      return;
    }
    const deadline = Date.now() + part.grace;
    while (Date.now() < deadline && isRunning(part)) await sleep(50);
  }
}

async function endAll() {
  const list = readParts();
  if (list === null) return;
  const orders = [...new Set(list.parts.map((part) => part.order))].sort((a, b) => a - b);
  for (const order of orders) {
    await Promise.all(list.parts.filter((part) => part.order === order).map(end));
  }
  if (readParts() === null) return;
  for (const path of [String(file), ...list.remove]) rmSync(path, { recursive: true, force: true });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
process.stdin.on('error', () => undefined);
process.stdin.resume();
let ended = false;
for (const event of ['end', 'close']) {
  process.stdin.once(event, () => {
    if (ended) return;
    ended = true;
    endAll().then(
      () => process.exit(0),
      () => process.exit(1),
    );
  });
}
