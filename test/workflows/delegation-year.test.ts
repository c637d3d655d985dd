// A delegation of a year in a minute: when the workflow is about to wait, the database's clock, which decides all
// steps, advances by as much, and the workflow receives a signal.
import { afterEach, expect, it } from 'vitest';
import type {
  DelegationName,
  DelegationStanding,
} from '../../src/authentication/delegations/delegation-expiry.service.ts';
import { createDelegationEngine, type DelegationEngine } from './delegation-engine.ts';
import { eventually } from './delivery-engine.ts';
import { advanceClock, readClock } from './virtual-clock.ts';

const DAY = 86_400;

let engine: DelegationEngine | undefined;
afterEach(async () => {
  await engine?.close();
});

it('a delegation of a year is looked at daily, ends on time, and its history is begun anew in between', async () => {
  let looks = 0;
  const place: { engine?: DelegationEngine } = {};
  const jump = async (standing: DelegationStanding, { id }: DelegationName): Promise<DelegationStanding> => {
    if (standing.step.kind !== 'wait' || place.engine === undefined) return standing;
    looks += 1;
    await advanceClock(place.engine.database, standing.step.delayMs);
    await place.engine.workflow(id).signal('changed');
    return standing;
  };
  const made = await createDelegationEngine({
    virtual: true,
    wrap: (activities) => ({
      ...activities,
      readDelegation: async (name) => jump(await activities.readDelegation(name), name),
    }),
  });
  engine = made;
  place.engine = made;
  const one = await made.begin(364 * DAY);
  expect(
    await eventually(
      () =>
        made
          .workflow(one.id)
          .result()
          .catch(() => undefined),
      'its end',
      240_000,
    ),
  ).toEqual({
    status: 'expired',
  });
  expect(looks).toBeGreaterThanOrEqual(364);
  expect(looks).toBeLessThanOrEqual(366);
  const late = (await readClock(made.database)).getTime() - one.expiresAt.getTime();
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(600_000);
  expect(await made.lines(one.id)).toEqual([
    'delegation.created by application',
    'delegation.expired by service',
  ]);
  const lengths = async () => {
    const found: number[] = [];
    for await (const run of made.client.workflow.list({ query: `WorkflowId="delegation/${one.id}"` }))
      found.push(run.historyLength);
    return found;
  };
  await eventually(async () => (await lengths()).length > 1, 'the runs to be listed');
  expect(Math.max(...(await lengths()))).toBeLessThan(1_000);
});
