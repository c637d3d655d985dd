// A folder for one test, which goes away with it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** @returns an absolute path */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-local-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
