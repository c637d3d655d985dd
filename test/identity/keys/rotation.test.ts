// What each happening makes of a rotation, and what is due when: every case of both tables.
import { describe, expect, it } from 'vitest';
import { buildRotationProofPayload } from '../../../packages/agent/src/payloads.ts';
import {
  afterKeyChange,
  decideStep,
  initialState,
  ROTATION_STATES,
  type RotationFacts,
  sunsetAfterSwitch,
} from '../../../src/identity/keys/rotation.ts';

const now = new Date('2026-03-01T12:00:00.000Z');
const fromNow = (milliseconds: number) => new Date(now.getTime() + milliseconds);
const DAY = 86_400_000;

describe('a change of a key', () => {
  it.each([
    ['waiting_for_switch', 'old', 'deprecated', { state: 'overlapping' }],
    ['waiting_for_switch', 'old', 'revoked', { state: 'completed', endReason: 'old_key_revoked' }],
    ['waiting_for_switch', 'old', 'expired', { state: 'completed', endReason: 'sunset_reached' }],
    ['waiting_for_switch', 'new', 'deprecated', { state: 'aborted', endReason: 'new_key_deprecated' }],
    ['waiting_for_switch', 'new', 'revoked', { state: 'aborted', endReason: 'new_key_revoked' }],
    ['waiting_for_switch', 'new', 'expired', { state: 'aborted', endReason: 'new_key_revoked' }],
    ['overlapping', 'old', 'deprecated', null],
    ['overlapping', 'old', 'revoked', { state: 'completed', endReason: 'old_key_revoked' }],
    ['overlapping', 'old', 'expired', { state: 'completed', endReason: 'sunset_reached' }],
    ['overlapping', 'new', 'deprecated', null],
    ['overlapping', 'new', 'revoked', { state: 'aborted', endReason: 'new_key_revoked' }],
    ['overlapping', 'new', 'expired', { state: 'aborted', endReason: 'new_key_revoked' }],
  ] as const)('%s, and the %s key is %s: %j', (state, key, change, next) => {
    expect(afterKeyChange(state, key, change)).toEqual(next);
  });

  it('leaves a rotation alone that has ended', () => {
    for (const state of ROTATION_STATES.slice(2))
      for (const key of ['old', 'new'] as const)
        for (const change of ['deprecated', 'revoked', 'expired'] as const)
          expect(afterKeyChange(state, key, change)).toBeNull();
  });
});

describe('the next step', () => {
  const active = { state: 'active', sunsetAt: null } as const;
  const deprecated = (left: number) => ({ state: 'deprecated', sunsetAt: fromNow(left) }) as const;
  const rotation = (
    changes: Partial<NonNullable<RotationFacts['rotation']>> = {},
  ): NonNullable<RotationFacts['rotation']> => ({
    state: 'waiting_for_switch',
    deadlineAt: fromNow(3_000),
    switchedAt: null,
    stalledAt: null,
    newKeyFirstUsedAt: null,
    ...changes,
  });
  const overlapping = (changes: Parameters<typeof rotation>[0] = {}) =>
    rotation({ state: 'overlapping', ...changes });
  const wait = (reason: string, delayMs: number) => ({ kind: 'wait', reason, delayMs });

  it.each<[string, RotationFacts['key'], RotationFacts['rotation'], object]>([
    ['a key that is gone', null, null, { kind: 'end' }],
    ['a revoked key', { state: 'revoked', sunsetAt: null }, null, { kind: 'end' }],
    ['an active key without a rotation', active, null, { kind: 'end' }],
    ['an active key whose rotation is canceled', active, rotation({ state: 'canceled' }), { kind: 'end' }],
    ['an active key whose rotation is aborted', active, rotation({ state: 'aborted' }), { kind: 'end' }],
    ['a deprecated key', deprecated(5_000), null, wait('sunset', 5_000)],
    ['a deprecated key at its sunset', deprecated(0), null, { kind: 'revoke' }],
    ['a deprecated key after its sunset', deprecated(-DAY), null, { kind: 'revoke' }],
    [
      'a deprecated key whose rotation is aborted',
      deprecated(5_000),
      rotation({ state: 'aborted' }),
      wait('sunset', 5_000),
    ],
    ['a far sunset', deprecated(400 * DAY), null, wait('sunset', DAY)],
    ['a rotation that has begun', active, rotation(), wait('switch', 3_000)],
    ['a rotation at its deadline', active, rotation({ deadlineAt: now }), { kind: 'warn' }],
    [
      'a stalled rotation',
      active,
      rotation({ deadlineAt: fromNow(-1), stalledAt: now }),
      wait('switch', DAY),
    ],
    ['a switch', active, rotation({ newKeyFirstUsedAt: fromNow(-1) }), { kind: 'switch' }],
    [
      'a switch after the deadline, before anybody warned',
      active,
      rotation({ newKeyFirstUsedAt: fromNow(-1), deadlineAt: fromNow(-5) }),
      { kind: 'switch' },
    ],
    ['an overlap', deprecated(9_000), overlapping({ switchedAt: now }), wait('sunset', 9_000)],
    ['an overlap without a switch', deprecated(9_000), overlapping(), wait('sunset', 3_000)],
    [
      'an overlap without a switch at its deadline',
      deprecated(9_000),
      overlapping({ deadlineAt: now }),
      { kind: 'warn' },
    ],
    [
      'a switch during an overlap',
      deprecated(9_000),
      overlapping({ newKeyFirstUsedAt: now }),
      { kind: 'switch' },
    ],
    [
      'a sunset before the switch',
      deprecated(0),
      overlapping({ newKeyFirstUsedAt: now }),
      { kind: 'revoke' },
    ],
  ])('of %s', (_name, key, found, step) => {
    expect(decideStep({ now, key, rotation: found })).toEqual(step);
  });
});

it('waits for the agent unless the old key has its sunset already', () => {
  expect([initialState('active'), initialState('deprecated')]).toEqual(['waiting_for_switch', 'overlapping']);
});

it('counts the overlap from the switch, and never sets a sunset that has passed', () => {
  expect(sunsetAfterSwitch(fromNow(-2_000), 60, now)).toEqual(fromNow(58_000));
  expect(sunsetAfterSwitch(fromNow(-DAY), 60, now)).toEqual(fromNow(1_000));
});

it('has both keys sign both fingerprints, in a text of its own', () => {
  const text = new TextDecoder().decode(
    buildRotationProofPayload({
      tenantId: 't',
      agentId: 'a',
      oldFingerprint: '0'.repeat(64),
      newFingerprint: '1'.repeat(64),
    }),
  );
  expect(text).toBe(`SERVICE-KEY-ROTATION-V1\nt\na\n${'0'.repeat(64)}\n${'1'.repeat(64)}`);
});
