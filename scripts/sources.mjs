// Knows whether the build is of the sources that are there: by a hash over their content, kept beside the build.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { GUIDES, OPERATIONS } from './reference/guide-list.mjs';

/** Everything that a build is made of. */
export const INPUTS = [
  'src',
  'workflows',
  'activities',
  'scripts',
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.package.json',
  'package-lock.json',
  'openapi.json',
  // The pages that are served.
  `docs/${OPERATIONS}`,
  ...GUIDES.map(({ name }) => `docs/${name}.md`),
];

/** Where the hash of a finished build is kept, below the clone. */
export const STAMP = join('dist', '.sources');

/** @param {string} root of the clone @returns {boolean} whether `dist` must be built anew */
export function isStale(root) {
  return readOptional(join(root, STAMP)) !== hashSources(root);
}

/** @param {string} root of the clone @returns {string} one hash over all sources */
export function hashSources(root) {
  const files = INPUTS.flatMap((input) => filesOf(join(root, input)));
  const packages = packagesOf(root).flatMap((folder) =>
    ['src', 'package.json', 'tsconfig.json'].flatMap((input) => filesOf(join(folder, input))),
  );
  return hashFiles(root, [...files, ...packages]);
}

/** @param {string} root of the clone @returns {string[]} the folders of the packages that others install */
export function packagesOf(root) {
  const folder = join(root, 'packages');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => existsSync(join(path, 'package.json')))
    .sort();
}

/**
 * One hash over the built modules that are reached from a module by relative imports.
 * @param {string} root of the clone
 * @param {string} entry absolute path of a built module
 */
export function hashReachable(root, entry) {
  const reached = new Set();
  const waiting = [entry];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file) || !existsSync(file)) continue;
    reached.add(file);
    for (const [, path] of readFileSync(file, 'utf8').matchAll(
      /(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g,
    )) {
      waiting.push(join(dirname(file), path));
    }
  }
  return hashFiles(root, [...reached, join(root, 'package-lock.json'), join(root, 'scripts', 'compile.mjs')]);
}

/** @param {string} file @returns {string | null} */
export function readOptional(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

/** @param {string} path a file or a folder @returns {string[]} files in a stable order */
export function filesOf(path) {
  if (!existsSync(path)) return [];
  if (statSync(path).isFile()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' });
  return names
    .map((name) => join(path, name))
    .filter((file) => statSync(file).isFile())
    .sort();
}

/** @param {string} root of the clone @param {string[]} files @returns {string} one hash over paths and contents */
export function hashFiles(root, files) {
  const hash = createHash('sha256');
  for (const file of files.sort())
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
}
