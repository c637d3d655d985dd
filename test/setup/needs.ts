// What each test file needs, read from what it imports: the projects of vitest.config.ts.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** In this order each needs what those before it need: nothing, Postgres, Temporal, a build and the machine. */
const NEEDS = ['pure', 'database', 'temporal', 'processes'] as const;
export type Need = (typeof NEEDS)[number];

const SIGNS: readonly (readonly [Need, RegExp])[] = [
  ['processes', /^[^/\n]*'node:child_process'/m],
  ['temporal', /inject\('temporal/],
  ['database', /inject\('databaseUrl'/],
];

const IMPORT = /^(?:import|export) (?!type )[^;']*from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/**
 * Sorts all test files by the greatest need of the files of `folder` that they reach by imports.
 * @param folder absolute path; what lies outside of it, such as the sources, is not read
 * @returns paths as seen from the folder above
 */
export function sortByNeed(folder: string): Record<Need, string[]> {
  const modules = new Map<string, { readonly own: Need; readonly imports: readonly string[] }>();
  const read = (file: string) => {
    const text = readFileSync(file, 'utf8');
    const own = SIGNS.find(([, sign]) => sign.test(text))?.[0] ?? 'pure';
    const imports = [...text.matchAll(IMPORT)]
      .map(([, fixed, called]) => resolve(dirname(file), fixed ?? called ?? ''))
      .filter((path) => path.startsWith(join(folder, '/')) && existsSync(path));
    modules.set(file, { own, imports });
    return { own, imports };
  };
  const sorted: Record<Need, string[]> = { pure: [], database: [], temporal: [], processes: [] };
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.test.ts')) continue;
    const reached = new Set([join(folder, name)]);
    let greatest = 0;
    for (const file of reached) {
      const { own, imports } = modules.get(file) ?? read(file);
      greatest = Math.max(greatest, NEEDS.indexOf(own));
      for (const path of imports) reached.add(path);
    }
    sorted[NEEDS[greatest] ?? 'pure'].push(relative(dirname(folder), join(folder, name)));
  }
  return sorted;
}
