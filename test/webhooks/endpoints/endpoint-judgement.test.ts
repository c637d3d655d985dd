// What failures mean for an endpoint, by age, number and kind: a table, and what holds for all.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EndpointHealth, judgeFailure } from '../../../src/webhooks/endpoints/endpoint-judgement.ts';
import { RECOVERY_SETTINGS, REFUSALS } from '../../../src/webhooks/endpoints/recovery-settings.ts';

const NOW = new Date('2026-01-01T12:00:00.000Z');
const ago = (ms: number): Date => new Date(NOW.getTime() - ms);
const HOUR = 3_600_000;

const OPEN: EndpointHealth = {
  state: 'open',
  failuresInARow: 0,
  failingSince: null,
  failingDeliveries: [],
  recoveredAt: null,
  holdUntil: null,
  probeStep: 0,
  probeAt: null,
  permits: null,
  released: 0,
  epoch: 7,
  watched: false,
  takesFirst: false,
};
const FAILURE = {
  deliveryId: 'new',
  startedAt: NOW.toISOString(),
  holdMs: null,
  limited: false,
  probe: false,
  refused: false,
};
/** Nine failures of three deliveries, the first one half a second ago. */
const NINE = { failuresInARow: 9, failingSince: ago(500), failingDeliveries: ['a', 'b', 'c'] };
const THIRTY = { ...NINE, failuresInARow: REFUSALS - 1 };
const HELD = { ...NINE, state: 'held', failuresInARow: 1, permits: 1 } as const;
const PROBE = { probe: true };
const NEW = { first: true, answered: true };
const DOWN = { ...NINE, state: 'down', failuresInARow: 10, permits: 1, probeAt: ago(0) } as const;

type Given = Partial<EndpointHealth>;
type Failed = Partial<Parameters<typeof judgeFailure>[1]>;
const judge = (row: Given, failure: Failed = {}, now = NOW) =>
  judgeFailure({ ...OPEN, ...row }, { ...FAILURE, ...failure }, now, RECOVERY_SETTINGS);

describe('a failure', () => {
  it.each<[what: string, row: Given, failure: Failed, state: string]>([
    ['the first one', {}, {}, 'open'],
    ['the tenth in half a second', NINE, {}, 'down'],
    ['the ninth', { ...NINE, failuresInARow: 8 }, {}, 'open'],
    ['the tenth in less than half a second', { ...NINE, failingSince: ago(499) }, {}, 'open'],
    ['the three hundredth at one moment', { ...NINE, failuresInARow: 299, failingSince: NOW }, {}, 'open'],
    ['the tenth of two deliveries', { ...NINE, failingDeliveries: ['a', 'new'] }, {}, 'open'],
    ['the tenth, of a third delivery', { ...NINE, failingDeliveries: ['a', 'b'] }, {}, 'down'],
    ['the tenth, of one that began long ago', { ...NINE, failingSince: ago(15_000) }, {}, 'down'],
    ['a refusal, the tenth', NINE, { refused: true }, 'open'],
    ['a refusal, the thirtieth', THIRTY, { refused: true }, 'down'],
    ['a refusal after an hour', { ...NINE, failingSince: ago(HOUR) }, { refused: true }, 'down'],
    ['with a wait', {}, { holdMs: 20 }, 'held'],
    ['with a wait, just after a success', { recoveredAt: ago(5_000) }, { holdMs: 20 }, 'open'],
    ['with a wait, later', { recoveredAt: ago(5_001) }, { holdMs: 20 }, 'held'],
    ['a 429 just after a success', { recoveredAt: ago(1) }, { holdMs: 20, limited: true }, 'held'],
    ['a first attempt with a wait', { recoveredAt: ago(14_999) }, { holdMs: 20, first: true }, 'open'],
    ['the same, later', { recoveredAt: ago(15_001) }, { holdMs: 20, first: true }, 'held'],
    ['a first attempt, the tenth', { ...NINE, recoveredAt: ago(14_999) }, { first: true }, 'open'],
    ['the same, later', { ...NINE, recoveredAt: ago(15_000) }, { first: true }, 'down'],
    ['a retry, the tenth', { ...NINE, recoveredAt: ago(9_000) }, {}, 'down'],
    ['with a wait, of an endpoint that is down', DOWN, { holdMs: 20 }, 'down'],
    ['a first attempt as the probe', { ...DOWN, failingSince: ago(7_999) }, { ...PROBE, ...NEW }, 'open'],
    ['the same, later', { ...DOWN, failingSince: ago(8_000) }, { ...PROBE, ...NEW }, 'down'],
    ['the same, after a failed probe', { ...DOWN, probeStep: 1 }, { ...PROBE, ...NEW }, 'down'],
    [
      'the same, of one that took first attempts',
      { ...DOWN, takesFirst: true },
      { ...PROBE, ...NEW },
      'down',
    ],
    ['the same without an answer', DOWN, { ...PROBE, first: true }, 'down'],
    ['a retry as the probe', DOWN, PROBE, 'down'],
    ['a first attempt that began before', DOWN, NEW, 'down'],
    ['a first attempt after a hold', { ...HELD, holdUntil: ago(0) }, { ...NEW, holdMs: 1_000 }, 'open'],
    [
      'a first attempt from before a hold',
      { ...HELD, holdUntil: ago(-1) },
      { ...NEW, holdMs: 1_000 },
      'held',
    ],
    ['a 429 after a hold', { ...HELD, holdUntil: ago(0) }, { ...NEW, holdMs: 1_000, limited: true }, 'held'],
    ['a first attempt, opened after it closed', { ...NINE, probeStep: 1 }, NEW, 'open'],
    ['the same with a wait', { ...NINE, probeStep: 1 }, { ...NEW, holdMs: 1_000 }, 'open'],
    ['a retry, opened after it closed', { ...NINE, probeStep: 1 }, {}, 'down'],
  ])('%s leaves the endpoint as it is to be', (_, row, failure, state) => {
    expect(judge(row, failure).next.state).toBe(state);
  });

  it.each<[what: string, row: Given, failure: Failed, signal: boolean]>([
    ['the second', { failuresInARow: 1 }, {}, false],
    ['the third', { failuresInARow: 2 }, {}, true],
    ['the third, of a watched endpoint', { failuresInARow: 2, watched: true }, {}, false],
    ['the third, a refusal', { failuresInARow: 2 }, { refused: true }, false],
    ['one that closes', { ...NINE, watched: true }, {}, true],
    ['a hold', { watched: true }, { holdMs: 20 }, true],
    ['a hold of a held one', { watched: true, holdUntil: ago(-9_000) }, { holdMs: 20 }, false],
    ['a probe', { ...DOWN, watched: true }, { probe: true }, true],
    ['a late one of an endpoint that is down', { ...DOWN, watched: true }, {}, false],
  ])('%s signals the workflow or does not', (_, row, failure, signal) => {
    const judged = judge(row, failure);
    expect(judged.signal).toBe(signal);
    expect(judged.next.watched).toBe(signal || row.watched === true);
  });

  it.each([
    [0, 2_000],
    [1, 4_000],
    [11, HOUR],
  ])('of the probe at step %i puts the next one off by %i ms', (probeStep, ms) => {
    const { next } = judge({ ...DOWN, probeStep }, { probe: true });
    expect(next).toMatchObject({ state: 'down', probeAt: ago(-ms), permits: 1, epoch: 8 });
    expect(judge(NINE).next).toMatchObject({ probeStep: 0, probeAt: ago(-1_000) });
  });

  it('returns its permit when it closes nothing, and is only counted when the endpoint is down', () => {
    expect(judge({ permits: 2 }).next).toMatchObject({ permits: 3, epoch: 7 });
    expect(judge({ permits: null }).next.permits).toBeNull();
    const late = { ...OPEN, ...DOWN };
    expect(judge(DOWN).next).toEqual({ ...late, failuresInARow: 11, watched: true });
  });

  it('never ends a hold early, nor shortens one', () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 86_400_000, noNaN: true }), fc.nat(100_000), (holdMs, left) => {
        const holdUntil = ago(-left);
        const { next } = judge({ state: 'held', holdUntil }, { holdMs });
        expect(Number(next.holdUntil)).toBeGreaterThan(NOW.getTime() + holdMs);
        expect(Number(next.holdUntil)).toBeGreaterThanOrEqual(Number(holdUntil));
      }),
    );
  });

  it('counts one delivery once, and remembers three', () => {
    const ids = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(ids, (failed) => {
        let row = OPEN;
        for (const deliveryId of failed) row = judge(row, { deliveryId }).next;
        expect(row.failuresInARow).toBe(failed.length);
        expect(row.failingDeliveries).toEqual([...new Set(failed)].slice(0, 3));
      }),
    );
  });
});
