// Key rotations on a clock of their own: months pass when a test says so. A wait of the workflow is cut to nothing, and
// the database's clock, which decides everything, jumps by as much, but never past the day that the test has named.

import type { KeyStanding } from '../../src/identity/keys/rotation-steps.service.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { eventually } from './delivery-engine.ts';
import { createKeyRotationEngine, type KeyRotationEngine } from './key-rotation-engine.ts';
import { advanceClock, readClock } from './virtual-clock.ts';

export const DAY = 24 * 3_600_000;

export type MonthsEngine = Awaited<ReturnType<typeof createMonthsEngine>>;

export async function createMonthsEngine() {
  const place: { database?: Database; until: number; daily: boolean } = { until: 0, daily: true };
  const jump = async (standing: Promise<KeyStanding>): Promise<KeyStanding> => {
    const found = await standing;
    const { step, sunsetAt, deadlineAt, stalled } = found;
    const { database, until, daily } = place;
    if (database === undefined || step.kind !== 'wait') return found;
    const present = (await readClock(database)).getTime();
    if (present >= until) return found;
    const due = [sunsetAt, stalled ? null : deadlineAt].flatMap((time) => (time ? [Date.parse(time)] : []));
    const next = daily ? [present + step.delayMs] : due;
    await advanceClock(database, Math.min(until, ...next) - present);
    return { ...found, step: { ...step, delayMs: 1 } };
  };
  const engine: KeyRotationEngine = await createKeyRotationEngine({
    virtual: true,
    wrap: (activities) => ({
      readKeyRotation: (key) => jump(activities.readKeyRotation(key)),
      deprecateOldKey: (key) => jump(activities.deprecateOldKey(key)),
      warnOfStalledRotation: (key) => jump(activities.warnOfStalledRotation(key)),
      revokeOldKey: (key) => jump(activities.revokeOldKey(key)),
      cancelKeyRotation: (key, reason) => jump(activities.cancelKeyRotation(key, reason)),
    }),
  });
  const { database } = engine;
  place.database = database;
  const now = async () => (await readClock(database)).getTime();
  const hasEnded = async (keyId: string) =>
    (await engine.workflow(keyId).describe()).status.name === 'COMPLETED';

  return {
    ...engine,
    now,

    /**
     * Lets so many days pass, as the workflow of this key waits; all days in one step once it has ended.
     * @param options.daily whether the workflow reads the key each day, or only when a step is due: as if no worker had
     *   been there meanwhile
     */
    pass: async (keyId: string, days: number, { daily = false } = {}): Promise<void> => {
      await engine.toldAll();
      place.daily = daily;
      place.until = (await now()) + days * DAY;
      const told = await engine
        .workflow(keyId)
        .signal('changed')
        .then(
          () => true,
          () => false,
        );
      if (told)
        await eventually(
          async () => (await now()) >= place.until || (await hasEnded(keyId)),
          `${days} days`,
          240_000,
        );
      const left = place.until - (await now());
      if (left > 0) await advanceClock(database, left);
      // It has looked at the last day, too.
      if (!(await hasEnded(keyId)))
        await engine
          .workflow(keyId)
          .signal('changed')
          .catch(() => undefined);
      await eventually(async () => {
        if (await hasEnded(keyId)) return true;
        const { doing } = await engine.stateOf(keyId);
        return doing.startsWith('waiting');
      }, 'the workflow to wait');
    },

    /** All runs of a key's workflow, with their lengths. */
    runsOf: async (keyId: string) => {
      const runs: { runId: string; historyLength: number }[] = [];
      const query = `WorkflowId="key-rotation/${keyId}"`;
      for await (const { runId, historyLength } of engine.client.workflow.list({ query }))
        runs.push({ runId, historyLength });
      return runs;
    },
  };
}
