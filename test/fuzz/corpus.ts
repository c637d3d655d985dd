// The committed inputs: those that the fuzzer found to reach new branches, and those that once broke a parser.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Target } from './target.ts';

const FOLDER = join(import.meta.dirname, 'corpus');

/** The seeds of a target and its committed inputs. */
export function corpusOf({ name, seeds }: Target): { readonly name: string; readonly bytes: Uint8Array }[] {
  const folder = join(FOLDER, name);
  const kept = existsSync(folder) ? readdirSync(folder).sort() : [];
  return [
    ...seeds.map((seed, index) => ({
      name: `seed ${index}`,
      bytes: typeof seed === 'string' ? Buffer.from(seed) : seed,
    })),
    ...kept.map((file) => ({ name: file, bytes: readFileSync(join(folder, file)) })),
  ];
}

/** Writes an input into the corpus. @param kind `found` for a new branch, `broke` for a failure @returns its path */
export function keepInput(target: string, kind: 'found' | 'broke', bytes: Uint8Array): string {
  const folder = join(FOLDER, target);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${kind}-${createHash('sha256').update(bytes).digest('hex').slice(0, 12)}`);
  writeFileSync(file, bytes);
  return file;
}
