// What is due for an endpoint in trouble, as a table; and for any endpoint at all: a step that is done is not due
// again.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointStateOf } from '../../../src/webhooks/endpoints/endpoint-state.ts';
import {
  decideRecoveryStep,
  type EndpointFacts,
  WARNINGS_AFTER,
  warningsEarned,
} from '../../../src/webhooks/endpoints/recovery-step.ts';

const NOW = new Date('2026-03-01T12:00:00.000Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const ago = (ms: number) => new Date(NOW.getTime() - ms);
const ahead = (ms: number) => new Date(NOW.getTime() + ms);

const FINE: EndpointFacts = {
  now: NOW,
  active: true,
  deleted: false,
  suspended: false,
  hostHeld: false,
  hostHeldUntil: null,
  restedUntil: null,
  state: 'open',
  open: true,
  holdUntil: null,
  probeAt: null,
  permits: null,
  permitsAt: null,
  failingSince: null,
  failingDeliveries: 0,
  warned: 0,
  warnedFor: null,
  disableAfterDays: 14,
  waiting: 3,
  crowdDueAt: null,
};
const FAILING: EndpointFacts = { ...FINE, failingSince: ago(5 * MINUTE), permits: 1, permitsAt: ago(MINUTE) };
const HELD: EndpointFacts = { ...FAILING, state: 'held', open: false, holdUntil: ahead(30_000) };
const DOWN: EndpointFacts = { ...FAILING, state: 'down', open: false, probeAt: ahead(MINUTE) };
const since = (endpoint: EndpointFacts, ms: number, warned = 0): EndpointFacts => ({
  ...endpoint,
  failingSince: ago(ms),
  warned,
  warnedFor: warned === 0 ? null : ago(ms),
});

describe('what is due for an endpoint', () => {
  it.each<[string, EndpointFacts, string, object]>([
    ['works', FINE, 'open', { kind: 'end' }],
    ['is inactive', { ...DOWN, active: false, open: false }, 'inactive', { kind: 'end' }],
    [
      'works, and has a crowd',
      { ...FINE, crowdDueAt: ahead(2_100) },
      'open',
      { kind: 'wait', reason: 'retries', delayMs: 2_250 },
    ],
    ['has a crowd that is due', { ...FINE, crowdDueAt: ago(0) }, 'open', { kind: 'sendRetries' }],
    ['is down, and its crowd is due', { ...DOWN, crowdDueAt: ago(1_000) }, 'down', { kind: 'sendRetries' }],
    [
      'is down, and its crowd is due before the probe',
      { ...DOWN, crowdDueAt: ahead(MINUTE - 1_000) },
      'down',
      { kind: 'wait', reason: 'retries', delayMs: MINUTE - 1_000 },
    ],
    [
      'is down, and its crowd is due after the probe',
      { ...DOWN, crowdDueAt: ahead(2 * MINUTE) },
      'down',
      { kind: 'wait', reason: 'probe', delayMs: MINUTE },
    ],
    [
      'is inactive with a crowd',
      { ...DOWN, active: false, open: false, crowdDueAt: ago(1_000) },
      'inactive',
      { kind: 'end' },
    ],
    ['is deleted', { ...DOWN, deleted: true }, 'deleted', { kind: 'end' }],
    [
      'is held with its host, for as long as nobody can say',
      { ...since(FAILING, 20 * DAY), open: false, hostHeld: true },
      'held',
      { kind: 'wait', reason: 'hold', delayMs: DAY },
    ],
    [
      'is down, and held with its host for longer',
      { ...DOWN, hostHeld: true, hostHeldUntil: ahead(2 * HOUR) },
      'held',
      { kind: 'wait', reason: 'hold', delayMs: 2 * HOUR },
    ],
    [
      'has failed for long, but an operator let nothing through until lately',
      { ...since(FAILING, 20 * DAY, 3), permits: null, restedUntil: ago(HOUR) },
      'failing',
      { kind: 'wait', reason: 'success', delayMs: DAY },
    ],
    ['is of a suspended tenant', { ...DOWN, suspended: true }, 'suspended', { kind: 'end' }],
    ['is held', HELD, 'held', { kind: 'wait', reason: 'hold', delayMs: 30_000 }],
    ['is down', DOWN, 'down', { kind: 'wait', reason: 'probe', delayMs: MINUTE }],
    [
      'is down, and held for longer',
      { ...DOWN, holdUntil: ahead(2 * MINUTE) },
      'held',
      { kind: 'wait', reason: 'hold', delayMs: 2 * MINUTE },
    ],
    [
      'is being probed',
      { ...DOWN, open: true, probeAt: ago(1_000) },
      'probing',
      { kind: 'wait', reason: 'outcome', delayMs: 5_000 },
    ],
    [
      'is to be probed for a while already',
      { ...DOWN, open: true, probeAt: ago(20 * MINUTE) },
      'probing',
      { kind: 'wait', reason: 'outcome', delayMs: 20 * MINUTE },
    ],
    [
      'is to be probed, with nothing to send',
      { ...DOWN, open: true, probeAt: ago(1_000), waiting: 0 },
      'probing',
      { kind: 'wait', reason: 'outcome', delayMs: 55 * MINUTE },
    ],
    [
      'comes back',
      { ...FINE, permits: 4, permitsAt: NOW },
      'releasing',
      { kind: 'wait', reason: 'release', delayMs: 5_000 },
    ],
    ['comes back, and has got everything', { ...FINE, permits: 4, waiting: 0 }, 'open', { kind: 'end' }],
    [
      'fails, and is open',
      { ...FAILING, permits: null },
      'failing',
      { kind: 'wait', reason: 'success', delayMs: 55 * MINUTE },
    ],
    ['failed last, and nothing waits', { ...FAILING, permits: null, waiting: 0 }, 'failing', { kind: 'end' }],
    [
      'refuses all for good, so that nothing waits',
      { ...FAILING, permits: null, waiting: 0, failingDeliveries: 3 },
      'failing',
      { kind: 'wait', reason: 'success', delayMs: 55 * MINUTE },
    ],
    [
      'refuses all for good for an hour',
      { ...since(FAILING, HOUR), waiting: 0, failingDeliveries: 3 },
      'failing',
      { kind: 'warn' },
    ],
    [
      'refused all for good a month ago, and got nothing since',
      { ...since(FAILING, 30 * DAY, 3), waiting: 0, failingDeliveries: 3 },
      'failing',
      { kind: 'wait', reason: 'success', delayMs: DAY },
    ],
    ['is down for an hour', since(DOWN, HOUR), 'down', { kind: 'warn' }],
    [
      'is down for an hour, and was reported',
      since(DOWN, HOUR, 1),
      'down',
      { kind: 'wait', reason: 'probe' },
    ],
    ['is down for a day', since(DOWN, DAY, 1), 'down', { kind: 'warn' }],
    ['is down for three days', since(DOWN, 3 * DAY, 2), 'down', { kind: 'warn' }],
    ['is down for ten days', since(DOWN, 10 * DAY, 3), 'down', { kind: 'wait', reason: 'probe' }],
    ['is down for as long as it may', since(DOWN, 14 * DAY, 3), 'down', { kind: 'deactivate' }],
    ['is down for as long as it may, unreported', since(DOWN, 14 * DAY), 'down', { kind: 'deactivate' }],
    [
      'works again after a warning',
      { ...FINE, warned: 2, warnedFor: ago(2 * DAY) },
      'open',
      { kind: 'announceRecovery' },
    ],
    [
      'fails again, and worked for a moment after a warning',
      { ...FAILING, warned: 1, warnedFor: ago(2 * DAY) },
      'releasing',
      { kind: 'announceRecovery' },
    ],
  ])('that %s', (_, endpoint, state, step) => {
    expect(endpointStateOf(endpoint)).toBe(state);
    expect(decideRecoveryStep(endpoint)).toMatchObject(step);
  });

  const time = fc.option(fc.integer({ min: -40 * DAY, max: 2 * DAY }).map((ms) => ahead(ms)));
  const endpoint: fc.Arbitrary<EndpointFacts> = fc
    .record({
      state: fc.constantFrom('open' as const, 'held' as const, 'down' as const),
      holdUntil: time,
      probeAt: time,
      permits: fc.option(fc.nat(40)),
      permitsAt: time,
      failingSince: fc.option(fc.integer({ min: 0, max: 40 * DAY }).map(ago)),
      warned: fc.nat(3),
      waiting: fc.nat(10_000),
      disableAfterDays: fc.integer({ min: 1, max: 365 }),
      active: fc.boolean(),
    })
    .map((drawn) => {
      const warned = Math.min(drawn.warned, warningsEarned({ ...FINE, ...drawn }));
      const closed = [drawn.holdUntil, drawn.state === 'down' ? drawn.probeAt : null];
      const open = drawn.active && closed.every((until) => until === null || until <= NOW);
      return { ...FINE, ...drawn, open, warned, warnedFor: warned > 0 ? drawn.failingSince : null };
    });

  it('is one thing at a time, ends, and never waits for nothing or past the next milestone', () => {
    fc.assert(
      fc.property(endpoint, (given) => {
        let now = given;
        for (let steps = 0; ; steps += 1) {
          expect(steps).toBeLessThan(4);
          const step = decideRecoveryStep(now);
          if (step.kind === 'end') return;
          if (step.kind === 'wait') {
            expect(step.delayMs).toBeGreaterThan(0);
            expect(step.delayMs).toBeLessThanOrEqual(DAY);
            const later = new Date(NOW.getTime() + step.delayMs - 1);
            const missed = warningsEarned({ ...now, now: later }) > warningsEarned(now);
            expect(missed).toBe(false);
            return;
          }
          if (step.kind === 'deactivate') now = { ...now, active: false, open: false };
          else if (step.kind === 'warn')
            now = { ...now, warned: warningsEarned(now), warnedFor: now.failingSince };
          else now = { ...now, warned: 0, warnedFor: null };
        }
      }),
    );
  });

  it('warns after an hour, a day and three days', () => {
    expect(WARNINGS_AFTER).toEqual([HOUR, DAY, 3 * DAY]);
  });
});
