// The tests of one workflow's histories, as earlier versions made them: today's workflow must be able to go on from any of them. With
// RECORD_HISTORIES=1 the ones that are missing are recorded; one that is there is never written again.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { installRuntimeOnce } from '../workflows/delivery-engine.ts';
import { type History, parseHistory, readHistory, writeHistory } from './history-file.ts';

const FOLDER = new URL('./histories/', import.meta.url);

/**
 * @param workflow what the names of its files begin with
 * @param scenarios what happens to a workflow, by the name of the history that comes of it
 * @param start an engine to record with
 * @param record lets a scenario happen, and answers with its workflow's history once that has ended
 * @param activity one in the history `of`: renamed there, the replay must fail
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

    // Also of scenarios that are no more: what they began may still run.
    const kept = readdirSync(FOLDER).filter((file) => file.startsWith(`${workflow}.`));
    const files = new Set([...Object.keys(scenarios).map((name) => `${workflow}.${name}.json`), ...kept]);
    const options = async () => ({ workflowBundle: await workflowBundle(), reuseV8Context: true });

    it.each([...files])('%s', async (file) => {
      await Worker.runReplayHistory(await options(), readHistory(new URL(file, FOLDER)));
    });

    it('notices a workflow that does something else', async () => {
      const text = readFileSync(fileOf(activity.of), 'utf8').replaceAll(activity.name, 'somethingElse');
      await expect(Worker.runReplayHistory(await options(), parseHistory(text))).rejects.toThrow(
        /nondeterminism/i,
      );
    });
  });
}
