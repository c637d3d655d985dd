// Knows whether what the guard measures has changed since it passed: by a hash over the paths of a token and a delivery.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../scripts/prepare.mjs';
import { filesOf, hashFiles, readOptional } from '../scripts/sources.mjs';

const GUARDED = [
  'src/audit',
  'src/authentication/tokens',
  'src/events',
  'src/platform',
  'src/webhooks',
  'bench/guard.mjs',
  'bench/verdict.mjs',
  'package-lock.json',
];
const PASSED = join(root, 'bench', 'guarded.json');

/** @returns whether the guard passed with these sources */
export const isGuarded = () => readOptional(PASSED) === describe();

/** Says that the guard has passed with the sources that are there. */
export const recordGuard = () => writeFileSync(PASSED, describe());

function describe() {
  const files = GUARDED.flatMap((path) => filesOf(join(root, path)));
  return `${JSON.stringify({ sources: hashFiles(root, files) }, null, 2)}\n`;
}
