// What runs, for `--version`, `countersign status` and metrics: the release and, in an image, the commit that it was
// built from. A test compares the release with package.json.
import { readFileSync } from 'node:fs';

const RELEASE = '0.2.0';
/** Written by the Dockerfile, beside the code. */
const REVISION = new URL('../../revision', import.meta.url);

/** `0.2.0`, or `0.2.0+0a1b2c3d4e5f` (Semantic Versioning, build metadata) where the commit is known. */
export const VERSION = versionOf(REVISION);

/** @param file that has a commit, or is not there */
export function versionOf(file: URL): string {
  const revision = readIfThere(file).trim().slice(0, 12);
  return revision === '' ? RELEASE : `${RELEASE}+${revision}`;
}

function readIfThere(file: URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
