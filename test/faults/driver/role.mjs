// A process of the service under the driver: started, ended, killed, frozen. One that ends without being told to is on
// record.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify } from '#dist/src/app/local/processes.js';

/** How the keeper ends it when the driver has died. */
const END = { order: 1, grace: 1_000, signals: ['SIGKILL'] };
const CLOCK = new URL('./shift-clock.mjs', import.meta.url).href;

/**
 * @param options `name`: such as `api1`; `role`: api or worker; `main`: the built entry point; `onOwnEnd` is told when
 *   the process ended by itself, with the last lines that it wrote
 */
export function createRole({ name, role, main, environment, folder, keeper, onOwnEnd }) {
  const clockFile = join(folder, `${name}.clock`);
  const logFile = join(folder, `${name}.log`);
  let child;
  let expected = false;
  let restart = Promise.resolve();

  const isUp = () => child !== undefined && child.exitCode === null && child.signalCode === null;
  const start = () => {
    if (isUp()) return;
    expected = false;
    const log = openSync(logFile, 'a');
    const own = spawn(process.execPath, ['--import', CLOCK, main, role], {
      env: { ...environment, CLOCK_FILE: clockFile },
      stdio: ['ignore', log, log],
    });
    child = own;
    const identity = identify(own.pid);
    if (identity !== null) keeper.add(name, identity, END);
    own.once('exit', (code, signal) => {
      if (expected || child !== own) return;
      onOwnEnd(name, `${code ?? signal}: ${tail(logFile)}`);
      // As a supervisor does.
      restart = new Promise((resolve) => setTimeout(resolve, 1_000)).then(() => !expected && start());
    });
  };
  const end = async (signal) => {
    expected = true;
    await restart;
    expected = true;
    if (!isUp()) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    // A frozen process does not see SIGTERM.
    if (signal !== 'SIGKILL') child.kill('SIGCONT');
    await exited;
  };
  const setClock = (milliseconds) => {
    writeFileSync(clockFile, String(milliseconds));
  };
  return {
    name,
    role,
    start,
    isUp,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => isUp() && child.kill('SIGSTOP'),
    thaw: () => isUp() && child.kill('SIGCONT'),
    setClock,
    log: () => readFileSync(logFile, 'utf8'),
  };
}

function tail(file) {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.slice(-3).join(' | ').slice(-400);
}
