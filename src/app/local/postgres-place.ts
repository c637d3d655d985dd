// Decides the folder and the user of the embedded Postgres. Postgres refuses to run as root, so under root it runs as
// the user `postgres`, who needs access to the folder.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, chown, cp, mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LocalStackError } from './local-stack-error.ts';
import { copyPostgresBinaries, findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import { type Access, firstClosedFolder, firstUnreadable, foldersOf, type User } from './reachable.ts';

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
 * Decides the folder of the cluster, and moves files there that the user `postgres` could not reach.
 * @param options.dataDir absolute, exists
 * @param options.id distinguishes this data folder from an earlier one at the same path
 * @param options.say receives one line when files are kept outside the data folder
 * @throws LocalStackError when the user cannot be created
 */
export async function preparePostgresPlace(options: {
  dataDir: string;
  id: string;
  say: (line: string) => void;
}): Promise<PostgresPlace> {
  const found = await findPostgresBinaries();
  const inside = join(options.dataDir, 'postgres');
  if (process.getuid?.() !== 0) return { binaries: found, cluster: inside, user: undefined };
  const user = await requirePostgresUser();
  const closedData = await closedFolder(options.dataDir, user);
  const closedPrograms = (await closedFolder(found.folder, user)) ?? (await unreadableFile(found, user));
  const outside = join(SHARED, hash(`${await realpath(options.dataDir)}\n${options.id}`), 'postgres');
  const kept = await exists(outside);
  if (closedData !== null || closedPrograms !== null) await makeOpenFolder(SHARED);
  const binaries =
    closedPrograms === null
      ? found
      : await copyPostgresBinaries(found, join(SHARED, `binaries-${found.version}`));
  if (closedPrograms !== null || closedData !== null || kept) {
    const why = closedData ?? closedPrograms;
    const reason =
      why === null ? 'it has been there since an earlier start' : `user postgres may not enter ${why}`;
    options.say(`Postgres lives in ${closedData !== null || kept ? dirname(outside) : SHARED}: ${reason}.`);
  }
  if (closedData === null && !kept) return { binaries, cluster: inside, user };
  await makeOpenFolder(dirname(outside));
  if (!kept && (await exists(inside))) await move(inside, outside, user);
  return { binaries, cluster: outside, user };
}

/** chmod sets the mode explicitly, because the umask may restrict the mode of mkdir. */
async function makeOpenFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}

/** @returns the first folder on the way to `path` that the user may not enter, or null */
async function closedFolder(path: string, user: User): Promise<string | null> {
  return firstClosedFolder(await Promise.all(foldersOf(await realpath(path)).map(access)), user);
}

/** @returns the first binary that the user may not read: a restrictive umask at the installation restricts files too */
async function unreadableFile({ folder }: PostgresBinaries, user: User): Promise<string | null> {
  const libraries = (await readdir(join(folder, 'lib'))).slice(0, 5).map((name) => join(folder, 'lib', name));
  const files = await Promise.all([join(folder, 'bin', 'postgres'), ...libraries].map(access));
  return firstUnreadable(files, user);
}

async function access(path: string): Promise<Access> {
  const { uid, gid, mode } = await stat(path);
  return { path, uid, gid, mode };
}

async function move(from: string, to: string, user: User): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(from, to, { recursive: true, preserveTimestamps: true });
    await rm(from, { recursive: true });
    for (const entry of await readdir(to, { recursive: true }))
      await chown(join(to, entry), user.uid, user.gid);
    await chown(to, user.uid, user.gid);
  }
}

/** @returns the system's user `postgres`, which is created when it is missing */
async function requirePostgresUser(): Promise<User> {
  const known = await readUser();
  if (known !== null) return known;
  try {
    await run('groupadd', ['--force', '--system', 'postgres']);
    await run('useradd', [
      '--system',
      '--gid',
      'postgres',
      '--no-create-home',
      '--shell',
      '/bin/false',
      'postgres',
    ]);
  } catch {
    // The missing user is reported below.
  }
  const made = await readUser();
  if (made !== null) return made;
  throw new LocalStackError(
    'Postgres does not run as root, and the user "postgres" could not be made: start as another user, or set DATABASE_URL.',
  );
}

async function readUser(): Promise<User | null> {
  try {
    const [uid, gid] = await Promise.all([run('id', ['-u', 'postgres']), run('id', ['-g', 'postgres'])]);
    return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
  } catch {
    return null;
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
