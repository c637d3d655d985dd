// How one workflow's histories are recorded: with RECORD_HISTORIES=1 those that are missing; a recorded one is never
// written again. every-history.test.ts replays them all.
import { existsSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { installRuntimeOnce } from '../workflows/delivery-engine.ts';
import { type History, parseHistory, writeHistory } from './history-file.ts';

const FOLDER = new URL('./histories/', import.meta.url);

/**
 * @param workflow the beginning of the names of its files
 * @param scenarios the course of a workflow, by the name of the history that it makes
 * @param start makes an engine to record with
 * @param record runs a scenario. Returns the history of its workflow, once that has ended
 * @param activity an activity of the history `of`: renamed there, the replay must fail
 */
export function describeHistories<Engine extends { close(): Promise<void> }, Scenario>({
  workflow,
  scenarios,
  start,
  record,
  activity,
}: {
  workflow: string;
  scenarios: Readonly<Record<string, Scenario>>;
  start: () => Promise<Engine>;
  record: (engine: Engine, scenario: Scenario) => Promise<History>;
  activity: { name: string; of: string };
}): void {
  const fileOf = (name: string) => new URL(`${workflow}.${name}.json`, FOLDER);

  describe.runIf(process.env.RECORD_HISTORIES === '1')('recording', () => {
    let engine: Engine;
    beforeAll(async () => {
      engine = await start();
    });
    afterAll(() => engine?.close());

    it.each(Object.entries(scenarios).filter(([name]) => !existsSync(fileOf(name))))(
      '%s',
      async (name, scenario) => {
        writeHistory(fileOf(name), await record(engine, scenario));
      },
    );
  });

  describe('replaying', () => {
    beforeAll(installRuntimeOnce);

    it('has a history of each scenario', () => {
      expect(Object.keys(scenarios).filter((name) => !existsSync(fileOf(name)))).toEqual([]);
    });

    it('notices a workflow that does something else', async () => {
      const text = readFileSync(fileOf(activity.of), 'utf8').replaceAll(activity.name, 'somethingElse');
      const options = { workflowBundle: await workflowBundle(), reuseV8Context: true };
      await expect(Worker.runReplayHistory(options, parseHistory(text))).rejects.toThrow(/nondeterminism/i);
    });
  });
}
