// A local stack around roles that do nothing: built once for a state of the sources, each start in a session of its own
// with its own data and ports.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished } from 'vitest';
import { isAlive } from '../../../src/app/local/processes.ts';
import type { RunningStack } from '../../../src/app/local/running-stack.ts';
import { takePorts } from '../../setup/ports.ts';
import { workflowBundle } from '../../setup/workflow-bundle.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const STUB = fileURLToPath(new URL('./stub-main.mjs', import.meta.url));
const ROOT = resolve('.');
const BUILDS = join(ROOT, '.data', 'test-stacks');
const HOUR = 3_600_000;

const sources: {
  hashSources(root: string): string;
  isStale(root: string): boolean;
  filesOf(path: string): string[];
} = await import(join(ROOT, 'scripts/sources.mjs'));

const { buildConsole }: { buildConsole(source: string, outDir: string): Promise<void> } = await import(
  join(ROOT, 'scripts/console.mjs')
);

/** @returns the folder of a build with its workflow bundle, which all test processes share */
export async function buildStack(): Promise<string> {
  const build = join(BUILDS, sources.hashSources(ROOT).slice(0, 16));
  if (existsSync(build)) return build;
  const own = `${build}.${process.pid}`;
  if (sources.isStale(ROOT)) {
    await compile(own);
    writeFileSync(join(own, 'workflow-bundle.js'), (await workflowBundle()).code);
  } else {
    cpSync(join(ROOT, 'dist'), own, { recursive: true });
  }
  try {
    renameSync(own, build);
  } catch {
    // Another process was faster.
    rmSync(own, { recursive: true, force: true });
  }
  // Another run of this clone may still use the build before.
  for (const old of readdirSync(BUILDS).map((name) => join(BUILDS, name))) {
    const { mtimeMs } = statSync(old, { throwIfNoEntry: false }) ?? { mtimeMs: Date.now() };
    if (old !== build && Date.now() - mtimeMs > HOUR) rmSync(old, { recursive: true, force: true });
  }
  return build;
}

/** Compiles without checking: types are the check's business. */
async function compile(outDir: string): Promise<void> {
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--noCheck', '--outDir', outDir];
  await promisify(execFile)(process.execPath, args);
  await buildConsole(join(ROOT, 'src/console'), join(outDir, 'console'));
  const rest = sources.filesOf(join(ROOT, 'src')).filter((file) => !/\.tsx?$/.test(file));
  for (const file of rest) cpSync(file, join(outDir, relative(ROOT, file)), { recursive: true });
  cpSync(join(ROOT, 'openapi.json'), join(outDir, 'openapi.json'));
}

/** Data folder, ports and variables for as many starts as a test likes; what is left over at its end is killed. */
export async function createStack(variables: Readonly<Record<string, string>> = {}) {
  const build = await buildStack();
  const dataDir = temporaryFolder();
  chmodSync(dataDir, 0o755);
  const journal = join(dataDir, 'journal');
  writeFileSync(journal, '');
  // Further processes take those after METRICS_PORT, which is the fourth.
  const ports = await takePorts(5);
  const [port, temporal, ui, metrics] = ports.map(String);
  const kept = join(ROOT, '.data/bin');
  const environment = {
    ...process.env,
    NODE_ENV: 'development',
    TEMPORAL_DEBUG: '0',
    PATH: existsSync(join(kept, 'temporal')) ? `${kept}:${process.env.PATH}` : process.env.PATH,
    ...{ STUB_BUILD: build, STUB_JOURNAL: journal, DATA_DIR: dataDir, HOST: '127.0.0.1' },
    ...{ PORT: port, METRICS_PORT: metrics, TEMPORAL_PORT: temporal, TEMPORAL_UI_PORT: ui },
    ...variables,
  };
  const read = (): RunningStack => JSON.parse(readFileSync(join(dataDir, 'run.json'), 'utf8'));

  /** Every process that was ever a part of a start. */
  const seen = new Set<number>();
  /** The processes of the parts, by name. */
  const processes = (): Readonly<Record<string, number>> => {
    const { parts } = JSON.parse(readFileSync(join(dataDir, 'parts.json'), 'utf8')) as {
      parts: { name: string; pid: number }[];
    };
    for (const { pid } of parts) seen.add(pid);
    return Object.fromEntries(parts.map(({ name, pid }) => [name, pid]));
  };
  onTestFinished(() => {
    for (const pid of seen) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  });

  function start(command: readonly string[] = [process.execPath, STUB, 'start'], cwd = ROOT) {
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
      cwd,
      detached: true,
      env: environment,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
    const exited = once(child, 'exit').then(([code, signal]) => (code as number | null) ?? String(signal));
    onTestFinished(() => void child.kill('SIGKILL'));
    return { child, exited, output: () => output };
  }

  /** Starts, and waits until all of it is up. */
  async function startReady(command?: readonly string[], cwd?: string) {
    const started = start(command, cwd);
    // The last line of what a start prints: its output arrives in pieces.
    await expect.poll(started.output).toMatch(/^Ctrl-C stops everything .*\n\n/m);
    processes();
    return started;
  }

  return {
    dataDir,
    ports: { api: Number(port), metrics: Number(metrics), temporal: Number(temporal), ui: Number(ui) },
    environment,
    start,
    startReady,
    read,
    processes,
    journal: () => readFileSync(journal, 'utf8').trim().split('\n'),
    isUp: () => existsSync(join(dataDir, 'run.json')),
    /** Waits until none of the processes that were ever seen runs any more. */
    gone: () => expect.poll(() => [...seen].filter(isAlive)).toEqual([]),
  };
}

export type Stack = Awaited<ReturnType<typeof createStack>>;

/** The keeper of a running start. */
export function keeperOf(child: ChildProcess): number {
  const list = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const line = list
    .split('\n')
    .find((text) => text.trim().split(/\s+/)[1] === String(child.pid) && text.includes('keeper.mjs'));
  return Number(line?.trim().split(/\s+/)[0]);
}

/** A folder that npm takes for the clone: the real scripts, and a build of which only the stub's roles are real. */
export async function cloneWithStub(): Promise<string> {
  const clone = temporaryFolder();
  for (const file of [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts',
  ]) {
    cpSync(join(ROOT, file), join(clone, file), { recursive: true });
  }
  mkdirSync(join(clone, 'node_modules'));
  cpSync(join(ROOT, 'node_modules/.package-lock.json'), join(clone, 'node_modules/.package-lock.json'));
  mkdirSync(join(clone, 'dist/src'), { recursive: true });
  writeFileSync(join(clone, 'dist/src/main.js'), `await import(${JSON.stringify(`file://${STUB}`)});\n`);
  writeFileSync(join(clone, 'dist/.sources'), sources.hashSources(clone));
  return clone;
}
