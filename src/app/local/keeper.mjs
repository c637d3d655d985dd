// A small process that outlives its starter: when the pipe to the starter closes, it ends the parts that are still
// there, in order. Plain JavaScript, so that it runs from sources as well as from the build. Must never end a process
// other than those in the list.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [file, owner] = process.argv.slice(2);

/** @returns the list, unless it is gone or belongs to a later starter */
function readList() {
  try {
    const list = JSON.parse(readFileSync(file, 'utf8'));
    return String(list.owner.pid) === owner ? list : null;
  } catch {
    return null;
  }
}

/** The same text as `started` in processes.ts, which made the list. */
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

const isRunning = ({ pid, started }) => startOf(pid) === started;

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
  const list = readList();
  if (list === null) return;
  const orders = [...new Set(list.parts.map((part) => part.order))].sort((a, b) => a - b);
  for (const order of orders) await Promise.all(list.parts.filter((part) => part.order === order).map(end));
  if (readList() === null) return;
  for (const path of [file, ...list.remove]) rmSync(path, { recursive: true, force: true });
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
process.stdin.resume();
await Promise.race(['end', 'close'].map((event) => once(process.stdin, event))).catch(() => undefined);
await endAll();
process.exit(0);
