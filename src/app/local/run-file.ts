// `run.json`: the running parts, for commands and tests in the same clone.
import { join } from 'node:path';
import { createStateFiles, type StateFiles } from './state-file.ts';

/** null: this stack does not run the part, or the part is down. Ports are those of this machine. */
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
    /** Ports of the metrics of worker and api. 0: no process listens. */
    metrics: number;
    metrics_api: number;
  };
  database_url: string;
};

/**
 * @param dataDir an existing folder
 * @param files reports when the file cannot be written; without it, there is no report
 * @returns `write` replaces the file atomically (mode 0600) once the disk has space, `remove` deletes it for good;
 *   neither throws when the disk is full
 */
export function createRunFile(
  dataDir: string,
  files: StateFiles = createStateFiles({ folder: dataDir, say: () => undefined }),
) {
  const kept = files.open(join(dataDir, 'run.json'));
  return {
    file: kept.file,
    write: (state: RunState): void => kept.write(`${JSON.stringify(state, null, 2)}\n`),
    remove: (): void => kept.remove(),
  };
}

export type RunFile = ReturnType<typeof createRunFile>;
