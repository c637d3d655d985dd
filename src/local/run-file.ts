// `run.json`: what runs now, for commands and tests in the same clone. It names a part only while that part is up.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** null stands for a part that is not ours, or not up; ports are those of this machine. */
export type RunState = {
  api: number[];
  worker: number[];
  temporal: number | null;
  postgres: number | null;
  ports: {
    api: number;
    temporal: number | null;
    temporal_ui: number | null;
    postgres: number | null;
    metrics: number;
  };
  database_url: string;
};

/**
 * @param dataDir exists
 * @returns `write` replaces the file atomically (mode 0600), `remove` takes it away
 */
export function createRunFile(dataDir: string) {
  const file = join(dataDir, 'run.json');
  const next = `${file}.${process.pid}`;
  return {
    file,
    write(state: RunState): void {
      writeFileSync(next, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
      renameSync(next, file);
    },
    remove(): void {
      rmSync(file, { force: true });
      rmSync(next, { force: true });
    },
  };
}

export type RunFile = ReturnType<typeof createRunFile>;
