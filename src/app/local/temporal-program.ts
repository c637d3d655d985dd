// Finds the program `temporal`: on the PATH or kept in the data folder; else makes it, by the download of the SDK or by
// a build with Go, and keeps it.
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requireRoom } from './disk-space.ts';
import { LocalStackError } from './local-stack-error.ts';

/** What a deployment runs, and the release of the command line that has both. */
export const TEMPORAL = { server: '1.31.0', ui: '2.49.1', cli: '1.7.1' } as const;

/**
 * The oldest server that the workflows know, and the release of the command line that has it. Go can build no later
 * release from a module proxy: those need a module of their repository that has no release.
 */
export const LOWEST = { server: '1.29.1', cli: '1.5.1' } as const;

const execute = promisify(execFile);
const SDK_DOWNLOAD = fileURLToPath(new URL('./temporal-sdk-download.mjs', import.meta.url));

/** A program that makes `temporal` in a folder; `limit` are milliseconds. */
type Maker = {
  readonly begins: string;
  readonly made: string;
  readonly command: (folder: string) => readonly [program: string, ...args: string[]];
  readonly limit: number;
};

/** For machines with internet and nothing else. */
const DOWNLOAD: Maker = {
  begins: 'the SDK downloads its development server',
  made: 'downloaded by the Temporal SDK',
  command: (folder) => [process.execPath, SDK_DOWNLOAD, `v${TEMPORAL.cli}`, folder],
  limit: 300_000,
};

/** For closed networks with a Go module proxy. */
const BUILD: Maker = {
  begins: 'building it with Go, once; this takes about two minutes',
  made: 'built with Go',
  command: () => ['go', 'install', `github.com/temporalio/cli/cmd/temporal@v${LOWEST.cli}`],
  limit: 1_200_000,
};

export type TemporalSearch = {
  /** The folder that keeps the program: `<DATA_DIR>/bin`. */
  readonly binFolder: string;
  readonly path: string;
  readonly say: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds within which the host of the download must answer. */
  readonly reach?: number | undefined;
};

/**
 * Finds, downloads or builds the program, and reports its source in one line.
 * @returns its absolute path
 * @throws LocalStackError that names the programs to install, when every source fails
 */
export async function obtainTemporal(search: TemporalSearch): Promise<string> {
  const { binFolder, path, say, signal, reach = 4_000 } = search;
  for (const folder of path.split(delimiter).filter((part) => part !== '')) {
    const program = join(folder, 'temporal');
    if (await isUsable(program, 'found on the PATH', say)) return program;
  }
  const kept = join(binFolder, 'temporal');
  if (await isUsable(kept, 'kept from an earlier start', say)) return kept;
  await requireRoom(binFolder, 300);
  for (const maker of [...((await canDownload(reach)) ? [DOWNLOAD] : []), BUILD]) {
    const isMade = await make(maker, kept, search);
    signal?.throwIfAborted();
    if (isMade) return kept;
  }
  throw new LocalStackError(
    'No Temporal server: install the Temporal CLI (https://docs.temporal.io/cli) or Go 1.24 or newer, or set TEMPORAL_ADDRESS to a server that runs.',
  );
}

/** Says so when the program can be taken, and when its server is too old. */
async function isUsable(program: string, source: string, say: TemporalSearch['say']): Promise<boolean> {
  const server = await serverOf(program);
  if (server === undefined) return false;
  const isNewEnough = server.localeCompare(LOWEST.server, 'en', { numeric: true }) >= 0;
  const verdict = isNewEnough ? source : `${source}, is passed over: it must be ${LOWEST.server} or newer`;
  say(`Temporal: ${program} with server ${server}, ${verdict}.`);
  return isNewEnough;
}

/**
 * @returns the version of the server in it; undefined for a program that is absent, built for another architecture,
 *   incomplete, or another one of that name
 */
export async function serverOf(program: string): Promise<string | undefined> {
  const { stdout } = await execute(program, ['--version'], { timeout: 20_000 }).catch(() => ({ stdout: '' }));
  return /temporal/i.test(stdout) ? /server (\d{1,4}\.\d{1,4}\.\d{1,4})/i.exec(stdout)?.[1] : undefined;
}

/** Otherwise an unreachable host would cost the whole time limit. With a proxy the check is left out. */
async function canDownload(reach: number): Promise<boolean> {
  if (process.env.HTTPS_PROXY || process.env.https_proxy) return true;
  const asking = fetch('https://temporal.download/', { method: 'HEAD', signal: AbortSignal.timeout(reach) });
  return await asking.then(
    () => true,
    () => false,
  );
}

/** Works in a temporary folder, so that the final path receives a whole program or none. */
async function make(
  maker: Maker,
  kept: string,
  { binFolder, path, say, signal }: TemporalSearch,
): Promise<boolean> {
  say(`Temporal: ${maker.begins}.`);
  const began = Date.now();
  const progress = setInterval(() => {
    say(`Temporal: that has taken ${Math.round((Date.now() - began) / 1_000)} s so far.`);
  }, 20_000);
  await mkdir(binFolder, { recursive: true });
  const folder = await mkdtemp(join(binFolder, '.new-'));
  try {
    const [program, ...args] = maker.command(folder);
    await execute(program, args, {
      env: { ...process.env, PATH: path, GOBIN: folder },
      timeout: maker.limit,
      killSignal: 'SIGKILL',
      ...(signal && { signal }),
    });
    const [name = ''] = (await readdir(folder)).filter((entry) => entry.startsWith('temporal'));
    await chmod(join(folder, name), 0o755);
    if ((await serverOf(join(folder, name))) === undefined) return false;
    await rename(join(folder, name), kept);
    say(`Temporal: ${maker.made} as ${kept}.`);
    return true;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    if (!signal?.aborted)
      say(`Temporal: not ${maker.made}: ${(stderr || message).trim().split('\n').at(-1)}`);
    return false;
  } finally {
    clearInterval(progress);
    await rm(folder, { recursive: true, force: true });
  }
}
