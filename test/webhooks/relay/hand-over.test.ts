// What a hand-over starts, gives back and settles, with the claim that it has. Times are numbers.
import { expect, it } from 'vitest';
import { HandOver } from '../../../src/webhooks/relay/hand-over.service.ts';
import type { Work } from '../../../src/webhooks/relay/relay.store.ts';
import { createSlots } from '../../../src/webhooks/relay/slots.ts';
import { createTurnstile } from '../../workflows/calm.ts';

const ROOM = { fast: 4, unproven: 4, slow: 4 };
const LAST = { n: 1, outcome: 'http:500' } as const;

const WORK: Work = {
  id: 'row',
  kind: 'first',
  command: null,
  deliveryId: 'delivery',
  generation: 0,
  tenantId: 'tenant',
  endpoint: 'endpoint',
  status: 'pending',
  rowGeneration: 0,
  attemptCount: 0,
  ownWorkflow: false,
  eventType: 'wallet.tx.signed',
  host: 'receiver.test',
  epoch: 7,
  paced: false,
};

/** @param late 6 s pass while other starts are under way, so that the start of this one waits */
async function handOver(work: Work, { late = false }: { late?: boolean } = {}) {
  const calls: unknown[] = [];
  let time = 0;
  const others = createTurnstile();
  const letOthers = late ? others.close() : () => undefined;
  const note =
    (kind: string) =>
    ({ paced, deliveryId }: Work) => {
      if (deliveryId === work.deliveryId) calls.push([kind, paced]);
    };
  const handing = new HandOver({
    database: { query: () => Promise.reject(new Error('is not asked')) },
    starter: {
      start: async ({ deliveryId, local, waiting, last, grant }) => {
        if (deliveryId === work.deliveryId) calls.push({ local, waiting, last, grant });
        else await others.pass();
        return 'started';
      },
      signal: () => Promise.reject(new Error('is not asked')),
    },
    slots: createSlots({ total: ROOM, tenant: ROOM }),
    settlement: {
      done: note('done'),
      unused: note('unused'),
      removed: note('removed'),
      release: note('release'),
    },
    firstAttempts: {
      make: async () => ({
        kind: 'continue',
        last: LAST,
        waiting: { kind: 'wait', delayMs: 5_000 },
        slow: false,
      }),
    },
    isAlive: () => true,
    onFailure: (error) => calls.push(error),
    now: () => time,
  });
  if (late)
    for (let n = 0; n < 16; n += 1) handing.begin({ ...tried(3_000), deliveryId: `other ${n}` }, false);
  handing.begin(work, false);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  // All that goes on without the others has gone on.
  if (late) await turn();
  time = late ? 6_000 : 0;
  letOthers();
  while (handing.pending() > 0) await turn();
  return calls;
}

const tried = (delayMs: number): Work => ({
  ...WORK,
  kind: 'start',
  attemptCount: 1,
  status: 'retrying',
  ownWorkflow: true,
  tried: { last: LAST, waiting: { kind: 'wait', delayMs } },
});

it('begins a workflow with the wait that is left', async () => {
  const begun = { local: true, last: LAST, grant: undefined };
  expect(await handOver(tried(3_000))).toEqual([
    { ...begun, waiting: { kind: 'wait', delayMs: 3_000 } },
    ['unused', false],
  ]);
});

it('hands its claim on where the retry is due, which is then made by the first task of the workflow', async () => {
  expect(await handOver({ ...tried(0), paced: true })).toEqual([
    { local: true, last: LAST, waiting: { kind: 'wait', delayMs: 0 }, grant: 7 },
    ['done', true],
  ]);
});

it('waits for the next claim where the start comes so late that a paced endpoint would only park it', async () => {
  expect(await handOver({ ...WORK, paced: true }, { late: true })).toEqual([['release', false]]);
});

it('begins as late as that where the endpoint is not paced', async () => {
  expect(await handOver(WORK, { late: true })).toEqual([
    { local: true, last: LAST, waiting: { kind: 'wait', delayMs: 0 }, grant: undefined },
    ['done', false],
  ]);
});
