// Makes a clone ready to run: installs what package-lock.json names, and builds when sources changed. Works before
// node_modules exists.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isStale } from './sources.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const lock = join(root, '.data', 'prepare.lock');
const parent = process.ppid;

/**
 * Installs and builds what is missing or stale. One process of a clone does so at a time; the others wait.
 * @param {{ build: boolean }} wanted
 */
export async function prepare(wanted) {
  process.chdir(root);
  if (!isInstallationStale() && !(wanted.build && isStale(root))) return;
  await takeLock();
  try {
    if (isInstallationStale()) await install();
    if (wanted.build && isStale(root)) await build();
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * Runs a program with this terminal, and ends it when we are told to end.
 * @param {string} command
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Promise<number>} its exit code
 */
export async function run(command, args, env = process.env) {
  return await outlive(spawn(command, args, { cwd: root, env, stdio: 'inherit' }));
}

/** The same, beside others: what it says comes at its end. @returns {Promise<{ code: number, said: string }>} */
export async function runQuietly(command, args, env = process.env) {
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk) => {
      said += chunk;
    });
  return { code: await outlive(child), said };
}

/** @returns {Promise<number>} the exit code of a child, which does not outlive us */
async function outlive(child) {
  const end = (signal) => {
    child.kill(signal);
    rmSync(lock, { force: true });
    process.exit(130);
  };
  const watch = setInterval(() => {
    if (process.ppid !== parent) end('SIGTERM');
  }, 500);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
  try {
    return await new Promise((resolve) => {
      child.once('error', () => resolve(127));
      child.once('close', (code) => resolve(code ?? 1));
    });
  } finally {
    clearInterval(watch);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, end);
  }
}

/**
 * Says from time to time that something is still going on.
 * @template T
 * @param {string} what
 * @param {Promise<T>} work
 * @param {number} [pause] milliseconds between two lines
 */
export async function withProgress(what, work, pause = 20_000) {
  const began = Date.now();
  const timer = setInterval(() => {
    process.stdout.write(`Still ${what} (${Math.round((Date.now() - began) / 1_000)} s).\n`);
  }, pause);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** Goes on as a program of the build, in this process. @param {string} file below `dist` */
export async function becomeBuilt(file) {
  await become(join('dist', file));
}

/** Goes on as another program, in this process. @param {string} file below the clone */
export async function become(file) {
  const path = join(root, file);
  process.argv[1] = path;
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(path).href);
}

async function install() {
  process.stdout.write(`Installing dependencies.\n`);
  const args = ['ci', '--include=dev', '--include=optional', '--loglevel=error', '--prefer-offline'];
  const npm = process.env.npm_execpath;
  const [command, ...first] =
    npm?.endsWith('.js') || npm?.endsWith('.cjs') ? [process.execPath, npm] : ['npm'];
  const installing = run(command, [...first, ...args], { ...process.env, NODE_ENV: '' });
  const code = await withProgress('installing', installing);
  if (code === 0 && !isInstallationStale()) return;
  process.stderr.write(`The dependencies could not be installed ("npm ci" failed): see above.\n`);
  process.exit(1);
}

async function build() {
  process.stdout.write(`Building.\n`);
  const code = await withProgress('building', run(process.execPath, [join(root, 'scripts', 'build.mjs')]));
  if (code === 0) return;
  process.stderr.write(`The build failed: see above.\n`);
  process.exit(1);
}

/** npm keeps beside the packages what it installed; it writes that last. */
function isInstallationStale() {
  const installed = readPackages(join(root, 'node_modules', '.package-lock.json'));
  const wanted = readPackages(join(root, 'package-lock.json'));
  if (installed === null || wanted === null) return true;
  return Object.entries(wanted).some(([path, { version, optional, peer, link }]) => {
    if (path === '' || link) return false;
    const found = installed[path];
    return found === undefined ? !optional && !peer : found.version !== version;
  });
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return null;
  }
}

/**
 * Waits while another process of this clone prepares; one that died, or took longer than ten minutes, does not count.
 */
async function takeLock() {
  mkdirSync(dirname(lock), { recursive: true });
  for (let told = false; ; ) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (!isHeld()) rmSync(lock, { force: true });
    else {
      if (!told) process.stdout.write(`Waiting for another command, which installs or builds this clone.\n`);
      told = true;
      await sleep(200);
    }
  }
}

function isHeld() {
  try {
    if (Date.now() - statSync(lock).mtimeMs > 600_000) return false;
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid > 0) process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
