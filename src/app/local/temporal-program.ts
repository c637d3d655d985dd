// Finds the program `temporal`: on PATH, in the data folder, by the download of the SDK, or by a build with Go.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, constants, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requireRoom } from './disk-space.ts';
import type { Keeper, PartEnd } from './keeper.ts';
import { LocalStackError } from './local-stack-error.ts';

/** The newest release that the Go module proxy can build: later releases have `replace` lines. */
const MODULE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';
const DOWNLOAD_HOST = 'https://temporal.download/';

const GO_END: PartEnd = { order: 0, grace: 2_000, signals: ['SIGKILL'] };

const run = promisify(execFile);
const suffix = process.platform === 'win32' ? '.exe' : '';

/** The places to search; `limits` are milliseconds. */
export type TemporalSearch = {
  /** The folder that keeps the program: `<DATA_DIR>/bin`. */
  readonly binFolder: string;
  readonly path: string;
  readonly say: (line: string) => void;
  readonly keeper?: Keeper | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly limits?: { readonly reach: number; readonly download: number; readonly build: number } | undefined;
};

const LIMITS = { reach: 4_000, download: 300_000, build: 1_200_000 } as const;

/**
 * Finds, downloads or builds the program, and reports its source in one line.
 * @returns its absolute path
 * @throws LocalStackError that names the programs to install, when every source fails
 */
export async function obtainTemporal(search: TemporalSearch): Promise<string> {
  const kept = join(search.binFolder, `temporal${suffix}`);
  const onPath = await findOnPath('temporal', search.path);
  if (onPath !== null && (await runs(onPath))) {
    search.say(`Temporal: ${onPath}, found on the PATH.`);
    return onPath;
  }
  if (await runs(kept)) {
    search.say(`Temporal: ${kept}, kept from an earlier start.`);
    return kept;
  }
  await requireRoom(search.binFolder, 300);
  if (await download(search, kept)) {
    search.say(`Temporal: downloaded by the Temporal SDK to ${kept}.`);
    return kept;
  }
  search.signal?.throwIfAborted();
  if (await build(search, kept)) {
    search.say(`Temporal: built with Go as ${kept}.`);
    return kept;
  }
  search.signal?.throwIfAborted();
  throw new LocalStackError(
    'No Temporal server: install the Temporal CLI (https://docs.temporal.io/cli) or Go 1.24 or newer, or set TEMPORAL_ADDRESS to a server that runs.',
  );
}

/** @returns the first executable file of this name on the PATH, or null */
async function findOnPath(name: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter).filter((part) => part !== '')) {
    const file = join(folder, `${name}${suffix}`);
    const usable = await access(file, constants.X_OK).then(
      async () => (await stat(file)).isFile(),
      () => false,
    );
    if (usable) return file;
  }
  return null;
}

/**
 * True when the program prints its version. Otherwise it is unusable: built for another architecture, incomplete, or
 * another program of that name.
 */
async function runs(program: string): Promise<boolean> {
  try {
    const { stdout } = await run(program, ['--version'], { timeout: 20_000 });
    return /temporal/i.test(stdout) && /server/i.test(stdout);
  } catch {
    return false;
  }
}

async function download(search: TemporalSearch, kept: string): Promise<boolean> {
  const limits = search.limits ?? LIMITS;
  if (!(await reachable(limits.reach))) {
    search.say('Temporal: the SDK cannot reach its download, so that is left out.');
    return false;
  }
  search.say('Temporal: the SDK downloads its development server.');
  return await inWorkFolder(search.binFolder, async (folder) => {
    const script = fileURLToPath(new URL('./temporal-sdk-download.mjs', import.meta.url));
    const child = spawn(process.execPath, [script, folder], { ...ending(search), stdio: 'ignore' });
    if (!(await succeeds(child, limits.download))) return false;
    const [name] = (await readdir(folder)).filter((entry) => entry.startsWith('temporal'));
    return name !== undefined && (await keep(join(folder, name), kept));
  });
}

/**
 * Checks that the download host answers, so that an unreachable host does not cost the whole time limit. With a proxy
 * the check is skipped.
 */
async function reachable(limit: number): Promise<boolean> {
  if (process.env.HTTPS_PROXY || process.env.https_proxy) return true;
  return await fetch(DOWNLOAD_HOST, { method: 'HEAD', signal: AbortSignal.timeout(limit) }).then(
    () => true,
    () => false,
  );
}

async function build(search: TemporalSearch, kept: string): Promise<boolean> {
  const go = await findOnPath('go', search.path);
  if (go === null) {
    search.say('Temporal: Go is not there to build it.');
    return false;
  }
  search.say('Temporal: building it with Go, once; this takes about two minutes.');
  const began = Date.now();
  const progress = setInterval(() => {
    search.say(`Temporal: still building (${Math.round((Date.now() - began) / 1000)} s).`);
  }, 20_000);
  try {
    return await inWorkFolder(search.binFolder, async (folder) => {
      const env = { ...process.env, PATH: search.path, GOBIN: folder };
      const child = spawn(go, ['install', MODULE], {
        ...ending(search),
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      if (child.pid !== undefined) search.keeper?.add('go', child.pid, GO_END);
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
        said = (said + chunk).slice(-4_096);
      });
      const built = await succeeds(child, (search.limits ?? LIMITS).build);
      if (child.pid !== undefined) search.keeper?.remove(child.pid);
      if (!built) search.say(`Temporal: Go could not build it: ${said.trim().split('\n').at(-1) ?? ''}`);
      return built && (await keep(join(folder, `temporal${suffix}`), kept));
    });
  } finally {
    clearInterval(progress);
  }
}

/** Works in a temporary folder, so that the final folder receives a complete program or none. */
async function inWorkFolder(binFolder: string, work: (folder: string) => Promise<boolean>): Promise<boolean> {
  await mkdir(binFolder, { recursive: true });
  const folder = await mkdtemp(join(binFolder, '.new-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function keep(made: string, kept: string): Promise<boolean> {
  await chmod(made, 0o755);
  if (!(await runs(made))) return false;
  await rename(made, kept);
  return true;
}

function ending({ signal }: TemporalSearch) {
  return { ...(signal && { signal }), killSignal: 'SIGKILL' as const };
}

async function succeeds(child: ChildProcess, limit: number): Promise<boolean> {
  const timer = setTimeout(() => child.kill('SIGKILL'), limit);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code === 0;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
