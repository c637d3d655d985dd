// Small things that every stack needs to run the service's command line and to talk to it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startPostgres } from '#dist/src/app/local/postgres.js';
import { MALLOC_SETTINGS, NODE_FLAGS } from '#dist/src/app/local/role-part.js';

const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url));

/** POSTs and parses. @throws with the answer's text when it is no success */
export async function call(url, options) {
  const response = await fetch(url, { method: 'POST', ...options });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}

/** @returns the field `authorization` of HTTP Basic */
export const basic = (id, secret) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;

export const say = (line) => process.stderr.write(`${line}\n`);

/** Starts Postgres in a folder that goes away. @returns its `url`, `pid` and `folder`, and `close` */
export async function openPostgres() {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
  await chmod(folder, 0o755);
  const { url, pid, cluster, stop } = await startPostgres({ dataDir: folder, log: say });
  const close = async () => {
    await stop();
    for (const path of [cluster, folder]) await rm(path, { recursive: true, force: true });
  };
  return { url, pid, folder, close };
}

/** Makes a tenant. @returns its id, and the id and the secret of its client */
export const createTenant = async (slug, env) =>
  JSON.parse(await output(['tenant', 'create', slug, '--json'], env));

/** Starts a role with the arguments and variables that `npm start` gives it. @param profile folder of CPU profiles */
export function startRole(role, env, profile) {
  const flags = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
  return spawn(process.execPath, [...NODE_FLAGS, ...flags, MAIN, role], {
    env: { ...MALLOC_SETTINGS, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Runs a command of the service to its end. @returns what it wrote to stdout */
export async function output(words, env) {
  const child = spawn(process.execPath, [MAIN, ...words], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${words.join(' ')} ended with ${code}`);
  return text;
}

/** Waits until the address answers with success. */
export async function ready(url, child) {
  for (let n = 0; n < 600 && child.exitCode === null; n += 1) {
    const response = await fetch(url).catch(() => undefined);
    if (response?.ok) return;
    await sleep(100);
  }
  throw new Error(`${url} does not answer`);
}

/** Ends a process that we started, in order. */
export async function end(child) {
  if (hasEnded(child)) return;
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  else child.kill('SIGTERM');
  await exited;
}

const hasEnded = ({ exitCode, signalCode }) => exitCode !== null || signalCode !== null;
