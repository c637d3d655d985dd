// The bundle of the workflows for tests: made once for each state of their sources, and shared by all test processes.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { bundleWorkflows } from '../../src/platform/temporal/bundle.ts';
import { INTERCEPTOR_PATHS, WORKFLOWS_PATH } from '../../src/platform/temporal/worker.ts';

const FOLDER = resolve('node_modules', '.cache', 'countersign');

let bundle: Promise<{ code: string }> | undefined;

export function workflowBundle(): Promise<{ code: string }> {
  bundle ??= obtainBundle();
  return bundle;
}

async function obtainBundle(): Promise<{ code: string }> {
  const file = join(FOLDER, `workflows-${await hashSources([WORKFLOWS_PATH, ...INTERCEPTOR_PATHS])}.js`);
  try {
    return { code: await readFile(file, 'utf8') };
  } catch {
    const { code } = await bundleWorkflows();
    await mkdir(FOLDER, { recursive: true });
    await writeFile(`${file}.${process.pid}`, code);
    await rename(`${file}.${process.pid}`, file);
    return { code };
  }
}

/** Over everything that the bundle is made of: the files that the entries reach, and the installed packages. */
async function hashSources(entries: readonly string[]): Promise<string> {
  const hash = createHash('sha256').update(await readFile('package-lock.json'));
  const seen = new Set<string>();
  const visit = async (file: string): Promise<void> => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = await readFile(file, 'utf8');
    hash.update(text);
    for (const [, target] of text.matchAll(/from '(\.[^']+\.ts)'/g)) {
      await visit(join(dirname(file), target ?? ''));
    }
  };
  for (const entry of entries) await visit(entry);
  return hash.digest('hex').slice(0, 16);
}
