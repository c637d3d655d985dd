// Checks the access of another user to folders and files. Pure: the caller reads the modes.

export type Access = {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
};

export type User = { readonly uid: number; readonly gid: number };

/**
 * @param folders a path's folders from the root down
 * @returns the first folder that the user may not enter, or null
 */
export function firstClosedFolder(folders: readonly Access[], user: User): string | null {
  return folders.find((folder) => !allows(folder, user, 0o1))?.path ?? null;
}

/** @returns the first file that the user may not read, or null */
export function firstUnreadable(files: readonly Access[], user: User): string | null {
  return files.find((file) => !allows(file, user, 0o4))?.path ?? null;
}

/** POSIX: only the first matching class counts (owner, group, others). */
function allows({ uid, gid, mode }: Access, user: User, bit: number): boolean {
  if (user.uid === 0) return true;
  const shift = user.uid === uid ? 6 : user.gid === gid ? 3 : 0;
  return ((mode >> shift) & bit) !== 0;
}

/** @returns every folder above an absolute path and the path itself, from the root down */
export function foldersOf(path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '');
  return ['/', ...parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`)];
}
