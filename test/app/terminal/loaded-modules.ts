// What modules load before they can work, read from their imports: those of the sources, or of the files of a build.
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const STATIC = /^\s*(?:import|export)\s+(type\s+)?(?:([^'";]*?)\sfrom\s+)?['"]([^'"]+)['"]/gm;

/** Everything that these files load, with all that follows: paths of this repository, and names of packages. */
export function loadedBy(files: readonly string[]): string[] {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    if (!isOwn(file)) return;
    for (const [, type, names = '', target = ''] of readFileSync(file, 'utf8').matchAll(STATIC))
      if (type === undefined && !isTypesOnly(names))
        visit(target.startsWith('.') ? normalize(join(dirname(file), target)) : target);
  };
  for (const file of files) visit(file);
  return [...seen];
}

function isTypesOnly(names: string): boolean {
  const text = names.trim();
  if (!text.startsWith('{')) return false;
  const each = text
    .slice(1, -1)
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return each.length > 0 && each.every((name) => name.startsWith('type '));
}

const isOwn = (file: string) => /^(?:src|dist)\//.test(file);

/** The packages among these. */
export const packagesOf = (files: readonly string[]) =>
  loadedBy(files).filter((each) => !isOwn(each) && !each.startsWith('node:'));
