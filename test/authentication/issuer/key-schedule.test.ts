// The schedule of issuer keys as pure rules: what is due at which moment, and what a rotation or a revocation makes of
// it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  after,
  arrange,
  decideStep,
  describeState,
  PUBLISHED_AFTER_SECONDS,
  PUBLISHED_AHEAD_SECONDS,
  planActivation,
  planAlgorithm,
  planRevocation,
  planRotation,
  type Schedule,
  type ScheduledKey,
  signingKeyOf,
  stateOf,
} from '../../../src/authentication/issuer/key-schedule.ts';
import { loadConfig } from '../../../src/platform/config.ts';

const DAY = 86_400;
const LIFETIME = 90 * DAY;
const EPOCH = new Date('2026-01-01T00:00:00Z');
const at = (seconds: number) => after(EPOCH, seconds);

/** A key whose moments are seconds from the beginning; published when it activates unless said. */
const key = (
  kid: string,
  activate: number,
  more: { retire?: number; published?: number; revoked?: number; sealed?: boolean; algorithm?: 'EdDSA' } = {},
): ScheduledKey => ({
  id: kid,
  kid,
  algorithm: more.algorithm ?? 'ES256',
  publishedAt: at(more.published ?? activate),
  activateAt: at(activate),
  retireAt: more.retire === undefined ? null : at(more.retire),
  removeAt: more.retire === undefined ? null : at(more.retire + PUBLISHED_AFTER_SECONDS),
  revokedAt: more.revoked === undefined ? null : at(more.revoked),
  sealed: more.sealed ?? true,
});
const schedule = (now: number, ...keys: ScheduledKey[]): Schedule => ({
  now: at(now),
  algorithm: 'ES256',
  keys,
});

const FIRST = key('one', 0, { retire: LIFETIME });
const NEXT = key('two', LIFETIME, { published: 5 });

describe('the next step', () => {
  it.each<[string, Schedule, object]>([
    ['a tenant with one key', schedule(5, key('one', 0)), { kind: 'publish' }],
    ['a tenant without any', schedule(5), { kind: 'publish' }],
    [
      'a tenant whose only key has lost its private half',
      schedule(5, key('one', 0, { sealed: false, retire: LIFETIME }), NEXT),
      { kind: 'publish' },
    ],
    [
      'long before the activation',
      schedule(6, FIRST, NEXT),
      { kind: 'wait', reason: 'activation', delayMs: DAY * 1000 },
    ],
    [
      'just before it',
      schedule(LIFETIME - 1, FIRST, NEXT),
      { kind: 'wait', reason: 'activation', delayMs: 1000 },
    ],
    ['at it', schedule(LIFETIME, FIRST, NEXT), { kind: 'publish' }],
    [
      'with the next but one published',
      schedule(LIFETIME, FIRST, { ...NEXT, retireAt: at(2 * LIFETIME) }, key('three', 2 * LIFETIME)),
      { kind: 'wait', reason: 'retirement', delayMs: 60_000 },
    ],
    [
      'a minute after the activation',
      schedule(LIFETIME + 60, FIRST, { ...NEXT, retireAt: at(2 * LIFETIME) }, key('three', 2 * LIFETIME)),
      { kind: 'retire' },
    ],
    [
      'with the private half destroyed',
      schedule(LIFETIME + 87_000 - 1, { ...FIRST, sealed: false }, NEXT, key('three', 2 * LIFETIME)),
      { kind: 'wait', reason: 'removal', delayMs: 1000 },
    ],
    [
      'when nothing lives that it signed',
      schedule(LIFETIME + 87_000, { ...FIRST, sealed: false }, NEXT, key('three', 2 * LIFETIME)),
      { kind: 'remove' },
    ],
    [
      'a revoked key that is not removed yet',
      schedule(
        100,
        { ...key('gone', 0, { retire: 50, revoked: 50, sealed: false }) },
        key('one', 50, { retire: LIFETIME }),
        NEXT,
      ),
      { kind: 'wait', reason: 'removal', delayMs: (50 + 87_000 - 100) * 1000 },
    ],
  ])('of %s', (_, given, step) => {
    expect(decideStep(given)).toEqual({ ...step, ...('delayMs' in step ? { delayMs: capped(step) } : {}) });
  });

  const capped = ({ delayMs }: { delayMs?: unknown }) => Math.min(Number(delayMs), DAY * 1000);
});

describe('without anybody who publishes', () => {
  it('the last key signs for years, past whatever its row says', () => {
    const years = schedule(10 * 365 * DAY, FIRST, NEXT);
    expect(signingKeyOf(years)?.kid).toBe('two');
    expect(signingKeyOf(schedule(10 * 365 * DAY, FIRST))?.kid).toBe('one');
    expect(planActivation(years, LIFETIME)).toEqual(after(years.now, PUBLISHED_AHEAD_SECONDS));
  });
});

describe('a rotation that is asked for', () => {
  it.each<[string, Schedule, ReturnType<typeof planRotation>]>([
    [
      'lets a key sign immediately that was published for ten minutes',
      schedule(605, FIRST, NEXT),
      { kind: 'promote', kid: 'two', activateAt: at(605) },
    ],
    [
      'waits until the next key has been published for ten minutes',
      schedule(604, FIRST, NEXT),
      { kind: 'promote', kid: 'two', activateAt: at(605) },
    ],
    ['changes nothing when that is settled', schedule(300, FIRST, { ...NEXT, activateAt: at(605) }), null],
    [
      'changes nothing within ten minutes of another rotation',
      schedule(1_204, key('one', 0, { retire: 605 }), { ...NEXT, activateAt: at(605) }),
      null,
    ],
    [
      'publishes a key where none is',
      schedule(1_205, key('one', 0, { retire: 605 }), { ...NEXT, activateAt: at(605) }),
      { kind: 'publish', activateAt: at(1_205 + 600) },
    ],
  ])('%s', (_, given, plan) => {
    expect(planRotation(given)).toEqual(plan);
  });
});

describe('a revocation', () => {
  it('of the key that signs lets the next one sign immediately, however short it was published', () => {
    expect(planRevocation(schedule(6, FIRST, NEXT), 'one')).toEqual({
      kind: 'promote',
      kid: 'two',
      activateAt: at(6),
    });
    expect(planRevocation(schedule(6, FIRST), 'one')).toEqual({ kind: 'publish', activateAt: at(6) });
  });

  it('of another key changes nothing of who signs', () => {
    expect(planRevocation(schedule(6, FIRST, NEXT), 'two')).toBeNull();
    expect(planRevocation(schedule(LIFETIME, FIRST, NEXT), 'one')).toBeNull();
  });
});

describe('a change of algorithm', () => {
  it('drops what has not signed and publishes a key of the new one', () => {
    expect(planAlgorithm(schedule(6, FIRST, NEXT), 'EdDSA')).toEqual({ drop: ['two'], publishAt: at(606) });
  });

  it('never drops a key that may sign before the change has committed', () => {
    const near = schedule(LIFETIME - 59, FIRST, NEXT);
    expect(planAlgorithm(near, 'EdDSA')).toEqual({ drop: [], publishAt: at(LIFETIME - 59 + 600) });
  });

  it('and back drops the new one, and needs no other', () => {
    const pending = schedule(7, FIRST, key('two', 606, { published: 6, algorithm: 'EdDSA' }));
    expect(planAlgorithm(pending, 'ES256')).toEqual({ drop: ['two'], publishAt: null });
  });
});

it.each<[string, Schedule, string]>([
  ['unprepared', schedule(5, key('one', 0)), 'active'],
  ['steady', schedule(5, FIRST, NEXT), 'active published'],
  ['rotating', schedule(LIFETIME - 600, FIRST, NEXT), 'active published'],
  ['rotating', schedule(LIFETIME, FIRST, NEXT, key('three', 2 * LIFETIME)), 'retired active published'],
  ['revoked', schedule(9, key('one', 0, { revoked: 8 }), key('two', 8), NEXT), 'revoked active published'],
])('is told to operators as %s', (state, given, states) => {
  expect(describeState(given)).toBe(state);
  expect(given.keys.map((one) => stateOf(one, given)).join(' ')).toBe(states);
});

it('each key retires exactly when the next begins, whatever the activations are', () => {
  const activations = fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(activations, fc.integer({ min: 0, max: 1_000 }), (times, now) => {
      const keys = times.map((time) => key(String(time), time));
      const arranged = new Map(arrange(schedule(now, ...keys)).map((one) => [one.kid, one]));
      const sorted = times.sort((a, b) => a - b);
      for (const [index, time] of sorted.entries()) {
        const next = sorted[index + 1];
        const expected =
          next === undefined
            ? undefined
            : { kid: String(time), retireAt: at(next), removeAt: at(next + PUBLISHED_AFTER_SECONDS) };
        expect(arranged.get(String(time))).toEqual(expected);
      }
    }),
  );
});

it('no setting lets a token live longer than its key is published', () => {
  const load = (seconds: number) =>
    loadConfig(
      { DATABASE_URL: 'postgres://localhost/x', ACCESS_TOKEN_LIFETIME: String(seconds) },
      { role: 'migrate' },
    );
  expect(load(PUBLISHED_AFTER_SECONDS - 600).accessTokenLifetime).toBe(86_400);
  expect(() => load(PUBLISHED_AFTER_SECONDS - 599)).toThrow('ACCESS_TOKEN_LIFETIME');
});
