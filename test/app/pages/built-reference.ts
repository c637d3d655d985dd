// Makes the API reference of openapi.json as the build does, in a folder.
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ADVICE } from '../../../src/platform/errors/advice.ts';
import { publishErrors } from '../../../src/platform/errors/catalogue.ts';

/** @returns the folder, which the caller removes */
export async function buildReference(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'reference-'));
  const script = await import(/* @vite-ignore */ resolve('scripts/reference.mjs'));
  const document = JSON.parse(readFileSync('openapi.json', 'utf8'));
  script.buildReference(folder, { document, errors: publishErrors(), advice: ADVICE });
  return folder;
}
