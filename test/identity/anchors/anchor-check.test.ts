// When proofs are looked for, and what a look means.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decideAnchorStep,
  isProofFile,
  isProofRecord,
  judgeLook,
  type LookFacts,
} from '../../../src/identity/anchors/anchor-check.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 4, 4);
const at = (ms: number) => new Date(START + ms);

const facts = (age: number, rest: Partial<LookFacts> = {}): LookFacts => ({
  now: at(age),
  status: 'pending',
  createdAt: at(0),
  expiresAt: at(7 * DAY),
  beganAt: at(age - 100),
  requestedAt: null,
  misses: 0,
  missingSince: null,
  ...rest,
});

describe('what is due', () => {
  const decide = (status: 'pending' | 'verified' | 'failed' | 'revoked', now: number, next: number) =>
    decideAnchorStep({ status, now: at(now), expiresAt: at(7 * DAY), nextCheckAt: at(next) });

  it.each([
    ['pending', HOUR, HOUR, { kind: 'look' }],
    ['pending', HOUR, HOUR + 1, { kind: 'wait', delayMs: 1 }],
    ['pending', 7 * DAY, 0, { kind: 'fail' }],
    ['pending', 7 * DAY - 1, 8 * DAY, { kind: 'wait', delayMs: 1 }],
    ['verified', 8 * DAY, 8 * DAY, { kind: 'look' }],
    ['verified', 8 * DAY, 30 * DAY, { kind: 'wait', delayMs: DAY }],
    ['failed', 0, 0, { kind: 'end' }],
    ['revoked', 0, 0, { kind: 'end' }],
  ] as const)('for a %s one after %d ms whose next look is at %d', (status, now, next, step) => {
    expect(decide(status, now, next)).toEqual(step);
  });
});

describe('checks a pending proof', () => {
  it.each([
    [2 * SECOND, 5 * SECOND],
    [MINUTE, 15 * SECOND],
    [HOUR, 15 * MINUTE],
    [DAY, HOUR],
  ])('after %d ms follow each other by %d', (age, pause) => {
    expect(judgeLook(facts(age), false, 0)).toMatchObject({
      status: 'pending',
      delayMs: pause,
      change: null,
    });
    expect(judgeLook(facts(age), false, 1)?.delayMs).toBeCloseTo(pause * 1.2);
  });

  it('come to a hundred or two in seven days, the last of them a minute before the end', () => {
    for (const random of [0, 0.5, 1]) {
      const times: number[] = [];
      for (let age = 2 * SECOND; age < 7 * DAY; ) {
        times.push(age);
        age += Math.round(judgeLook(facts(age), false, random)?.delayMs ?? DAY);
      }
      expect(times.length).toBeGreaterThan(100);
      expect(times.length).toBeLessThan(250);
      expect(times).toContain(7 * DAY - MINUTE);
    }
  });

  it('verify it, but not when its time is over', () => {
    expect(judgeLook(facts(DAY), true, 0.5)).toMatchObject({ status: 'verified', change: 'verified' });
    expect(judgeLook(facts(7 * DAY), true, 0.5)).toBeNull();
  });

  it('are followed immediately by another when somebody asked for it meanwhile', () => {
    const asked = facts(DAY, { beganAt: at(DAY - 100), requestedAt: at(DAY - 50) });
    expect(judgeLook(asked, false, 0)?.delayMs).toBe(5 * SECOND);
    const before = facts(DAY, { beganAt: at(DAY - 100), requestedAt: at(DAY - 150) });
    expect(judgeLook(before, false, 0)?.delayMs).toBe(HOUR);
  });
});

describe('checks a proof that was found', () => {
  const verified = (age: number, rest: Partial<LookFacts> = {}) =>
    facts(age, { status: 'verified', ...rest });

  it('are a little less than a day apart', () => {
    expect(judgeLook(verified(DAY), true, 0)).toMatchObject({ delayMs: DAY, change: null });
    expect(judgeLook(verified(DAY), true, 1)?.delayMs).toBeCloseTo(0.9 * DAY);
  });

  it('tell once that it is missing, and revoke it after three days without a find', () => {
    const changes: string[] = [];
    let state = { misses: 0, missingSince: null as Date | null };
    let age = 10 * DAY;
    for (;;) {
      const effect = judgeLook(verified(age, state), false, 0.5);
      if (effect === null) throw new Error('it had ended');
      if (effect.change !== null) changes.push(`${effect.change} after ${(age - 10 * DAY) / HOUR} h`);
      if (effect.status === 'revoked') break;
      state = effect;
      age += effect.delayMs;
    }
    expect(changes).toEqual(['missing after 2.2 h', 'revoked after 72 h']);
  });

  it('begin to count anew after a find', () => {
    const missing = verified(10 * DAY, { misses: 60, missingSince: at(7.5 * DAY) });
    expect(judgeLook(missing, true, 0)).toMatchObject({ misses: 0, missingSince: null, change: null });
  });

  it('do not revoke it by a single look, however long nobody has looked', () => {
    const late = verified(30 * DAY, { misses: 1, missingSince: at(20 * DAY) });
    const effect = judgeLook(late, false, 0);
    expect(effect).toMatchObject({ status: 'verified', misses: 2, delayMs: HOUR });
    expect(judgeLook({ ...late, ...effect, misses: 2 }, false, 0)).toMatchObject({ status: 'revoked' });
  });

  it.each(['failed', 'revoked'] as const)('revive nothing that is %s', (status) => {
    expect(judgeLook(verified(DAY, { status }), true, 0)).toBeNull();
    expect(judgeLook(verified(DAY, { status }), false, 0)).toBeNull();
  });

  it('never wait longer than a day, nor less than nothing', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 * DAY }),
        fc.constantFrom('pending' as const, 'verified' as const),
        fc.boolean(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(100),
        (age, status, found, random, misses) => {
          const missingSince = misses === 0 ? null : at(age - misses * HOUR);
          const effect = judgeLook(facts(age, { status, misses, missingSince }), found, random);
          if (effect === null) return age >= 7 * DAY && status === 'pending';
          return effect.delayMs >= 0 && effect.delayMs <= 1.2 * DAY;
        },
      ),
    );
  });
});

describe('a proof', () => {
  it('is found in a file or record that says it, and in no other text', () => {
    const proof = 'countersign-anchor=x';
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const expected =
          text
            .replace(/^\ufeff/, '')
            .split(/\r\n|\r|\n/)[0]
            ?.trim() === proof;
        return isProofFile(Buffer.from(text), proof) === expected;
      }),
    );
    fc.assert(fc.property(fc.uint8Array(), (bytes) => !isProofFile(bytes, proof)));
    expect(isProofFile(Buffer.from(`\ufeff ${proof} \r\nmore`), proof)).toBe(true);
    expect(isProofRecord([['a'], ['countersign-', 'anchor=x ']], proof)).toBe(true);
    expect(isProofRecord([['countersign-'], ['anchor=x'], []], proof)).toBe(false);
    expect(isProofRecord([], proof)).toBe(false);
  });
});
