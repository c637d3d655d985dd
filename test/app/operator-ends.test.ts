// With OPERATOR_ENDS=service no client of Temporal ends anything by a workflow.
import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { withoutEnds } from '../../activities/operator-refusal.ts';

const called: string[] = [];
/** Services whose functions note that they were called. */
const services = new Proxy(
  {},
  {
    get: (_, service) =>
      new Proxy({}, { get: (__, name) => async () => called.push(`${String(service)}.${String(name)}`) }),
  },
) as Parameters<typeof createActivities>[0];
const activities = createActivities(services);
const delivery = { tenantId: 't', id: 'd', generation: 0 };
type Some = Record<string, (...inputs: unknown[]) => Promise<unknown>>;
const history = { getHandle: () => ({ fetchHistory: async () => ({}) }) };
const client = { workflow: history, withAbortSignal: (_: AbortSignal, call: () => unknown) => call() };
const temporal = new MockActivityEnvironment({}, { client: client as unknown as Client });
const ENDS: readonly [string, ...unknown[]][] = [
  ['operateDelivery', delivery, 'cancel', null],
  ['cancelReplay', {}, null],
  ['cancelKeyRotation', {}, null],
  ['revokeDelegation', {}, null],
  ['revokeIssuerKey', {}, 'kid', 'reason'],
];

it.each(ENDS)('%s is refused for good, and reaches no service', async (name, ...inputs) => {
  const run = async (all: object) => temporal.run(async () => (all as Some)[name]?.(...inputs));
  called.length = 0;
  await run(activities);
  expect(called).not.toEqual([]);
  called.length = 0;
  const refusal = { type: 'policy_denied', nonRetryable: true };
  await expect(run(withoutEnds(activities))).rejects.toMatchObject(refusal);
  expect(called).toEqual([]);
});

it('a retry, and every activity that is no operator’s, stay', async () => {
  const left = withoutEnds(activities);
  called.length = 0;
  await temporal.run(async () => left.operateDelivery(delivery, 'retry', null));
  expect(called).toEqual(['deliveries.operate']);
  const names = new Set(ENDS.map(([name]) => name));
  const others = Object.entries(left).filter(([name]) => !names.has(name));
  expect(others.every(([name, activity]) => (activities as object as Some)[name] === activity)).toBe(true);
});
