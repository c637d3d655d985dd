// CPU time and memory of processes, from the operating system (Linux), and the core of a server.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ: fixed at 100 on every architecture that Node supports. */
const TICKS = 100;

/** Seconds that a process has used. */
export function cpuSeconds(pid) {
  const { own } = read(pid);
  return own / TICKS;
}

/** Seconds that a process, those below it and those that ended below it have used. */
export function cpuSecondsOfTree(pid) {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [read(name)];
      } catch {
        return [];
      }
    });
  const { own, ended } = read(pid);
  const below = all.filter(({ parent }) => parent === Number(pid)).reduce((sum, child) => sum + child.own, 0);
  return (own + ended + below) / TICKS;
}

/** `own`: user and system ticks; `ended`: those of children that were waited for. */
function read(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const [, parent] = fields;
  return { parent, own: fields[11] + fields[12], ended: fields[13] + fields[14] };
}

/** Memory of a process that is in use, in MiB. */
export function residentMemory(pid) {
  const [, kibibytes] = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(kibibytes) / 1_024);
}

/** One process on one core, as the figures say; without taskset(1) the operating system decides. */
export function pinToCore(pid) {
  try {
    execFileSync('taskset', ['-a', '-p', '-c', '0', String(pid)], { stdio: 'ignore' });
  } catch {
    process.stderr.write('The servers are not pinned to one core: there is no taskset.\n');
  }
}
