// `run.json`: what runs now, for commands and tests in the same clone. It names a part only while that part is up.
import { join } from 'node:path';
import { createStateFiles, type StateFiles } from './state-file.ts';

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
    /** Of the first worker and of the first api; further ones count up from there. 0: nobody listens. */
    metrics: number;
    metrics_api: number;
  };
  database_url: string;
};

/**
 * @param dataDir exists
 * @param files says when it cannot be written; without it, nobody is told
 * @returns `write` replaces the file atomically (mode 0600) once there is room, `remove` takes it away for good; neither throws for want of room
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
