// A worker, and then Temporal, is killed at every step of a key's departure: each ends as the one that nobody
// disturbed, the old key is not used after its sunset, and the new key is never refused.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAgentKeyRotationActivities } from '../../activities/agent-key-rotation.ts';
import { crashAtEverySteps, listSteps, observe, type Undisturbed } from './every-step.ts';
import { createKillableStack, type KillableStack } from './killable-stack.ts';

let stack: KillableStack;
let undisturbed: Undisturbed[];
beforeAll(async () => {
  stack = await createKillableStack();
  undisturbed = await observe(stack);
});
afterAll(() => stack?.close());

const compare = (ends: Awaited<ReturnType<typeof crashAtEverySteps>>): void => {
  expect(ends.length).toBe(listSteps(undisturbed).length);
  for (const { way, step, end } of ends)
    expect({ step, end }).toEqual({ step, end: undisturbed.find((one) => one.way === way)?.end });
};

it('knows the steps of every activity, and of a key that nobody disturbs', () => {
  const steps = undisturbed.flatMap((one) => one.steps);
  for (const name of Object.keys(createAgentKeyRotationActivities(stack.rooms)))
    for (const part of ['taken', 'done', 'reported']) expect(steps).toContain(`activity ${name} ${part} (1)`);
  const ofOld = [{ key: 'old', code: 'key_revoked' }];
  expect(undisturbed.map(({ end }) => end)).toMatchObject([
    { rotation: 'completed', end_reason: 'sunset_reached', stalled: true, late_uses: 0, refusals: ofOld },
    { rotation: 'canceled', old_key: 'active', new_key: 'active', refusals: [] },
    { rotation: null, old_key: 'revoked', late_uses: 0, refusals: ofOld },
  ]);
});

it('ends as undisturbed wherever its worker was killed', async () => {
  compare(
    await crashAtEverySteps(stack, undisturbed, async (worker, left) => {
      await worker.kill();
      await stack.endLeases();
      return stack.startWorker(left);
    }),
  );
});

it('ends as undisturbed wherever Temporal was killed, while the worker takes the step with nobody to report it to', async () => {
  compare(
    await crashAtEverySteps(stack, undisturbed, async (worker, left) => {
      await stack.killTemporal();
      worker.resume();
      await sleep(1_000);
      await stack.restartTemporal();
      // A supervisor starts a worker again that gave up meanwhile.
      return worker.isAlive() ? worker : stack.startWorker(left);
    }),
  );
});
